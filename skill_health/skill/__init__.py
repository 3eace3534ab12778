"""One skill: its bytes -> what it says, with positions."""
