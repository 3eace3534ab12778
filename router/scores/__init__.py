"""Results -> numbers: one module for each part of a report; every number with its n and its interval."""
