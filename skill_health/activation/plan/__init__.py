"""Inputs and choices -> everything that is settled before the first agent is started."""
