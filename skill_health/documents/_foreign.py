"""What others wrote, read so that no link leads elsewhere and nothing later stumbles over a number or a text in it."""

from __future__ import annotations

import json

from skill_health.documents._record import RecordType, decode_record

_MOST = 1 << 64


def read_record(raw: bytes, kind: type[RecordType]) -> RecordType:
    """A document from JSON in UTF-8 whose numbers can be reckoned with.

    Raises ValueError for anything else: another form, NaN, a number beyond 64 bits such as 1e99, half a pair.
    """
    if _seems_large(raw):
        try:
            json.loads(raw, parse_int=_check_number, parse_float=_check_number)
        except RecursionError:
            raise ValueError("nested too deep") from None
    return decode_record(raw, kind)


def _seems_large(raw: bytes) -> bool:
    """Whether a number may be a large one: it has twenty digits, or an exponent above zero. Fast, as few have."""
    shape = raw.translate(_SHAPE)
    if any(sign + b"0" * 20 in shape for sign in (b" ", b"\n", b"-")):
        return True
    at = shape.find(b"0e0")
    while at >= 0:
        # Digests are full of such letters; a number begins after a blank, a colon, a comma or a bracket, or far before.
        before = shape[max(0, at - 40) : at].rstrip(b"-.0")
        if not before or before.endswith((b" ", b"\n")):
            return True
        at = shape.find(b"0e0", at + 1)
    return False


_SHAPE = bytes.maketrans(b"0123456789+E:,[\t\r", b"00000000000e    \n")


def _check_number(text: str) -> float:
    if not abs(number := float(text)) <= _MOST:
        raise ValueError(f"a number beyond 64 bits: {text[:20]}")
    return number
