"""Choices and inputs -> everything that is settled before the first call."""
