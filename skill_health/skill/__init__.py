"""Parses one skill: from its bytes to what it says, with positions."""
