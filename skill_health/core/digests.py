"""The one hash function of the house, from where it is cheapest: hashlib loads OpenSSL, which a hook would feel."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # another interpreter keeps it elsewhere
    from hashlib import blake2b

__all__ = ["blake2b"]
