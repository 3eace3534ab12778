"""Figures that a skill asserts: are they sourced, and is the source up to date?"""
