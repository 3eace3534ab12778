"""The pixels of a PNG, to compare two drawings."""

from __future__ import annotations

import struct
import zlib


def pixels(data: bytes) -> bytes:
    """The samples of a PNG, unfiltered; 8 bits, RGBA."""
    at, packed, size = 8, b"", (0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            size = struct.unpack(">II", data[at + 8 : at + 16])
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    raw, row = zlib.decompress(packed), size[0] * 4
    out = bytearray()
    before = bytearray(row)
    for line in range(size[1]):
        start = line * (row + 1)
        how, own = raw[start], bytearray(raw[start + 1 : start + 1 + row])
        for place in range(row):
            left = own[place - 4] if place >= 4 else 0
            corner = before[place - 4] if place >= 4 else 0
            own[place] = (own[place] + _guess(how, left, before[place], corner)) & 255
        out += own
        before = own
    return bytes(out)


def _guess(how: int, left: int, up: int, corner: int) -> int:
    if how == 4:
        estimate = left + up - corner
        return min((left, up, corner), key=lambda each: abs(estimate - each))
    return (0, left, up, (left + up) // 2)[how]
