"""Labelled requests, drafted by a model or from what a skill says of itself, and held against our own rules."""
