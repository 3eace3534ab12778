"""Seeded numbers that are the same for all versions of numpy and on any machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Stream:
    """Seeded uniform numbers in [0, 1).

    They come from the raw output of PCG64, whose stream numpy guarantees for all versions and machines, which it does
    not for the methods of Generator.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def uniforms(self, *shape: int) -> Floats:
        """The next numbers, as an array of this shape."""
        raw = np.atleast_1d(self._bits.random_raw(int(np.prod(shape))))
        return np.asarray((raw >> np.uint64(11)) * 2.0**-53, dtype=np.float64).reshape(shape)

    def signs(self, rows: int, columns: int) -> Floats:
        """The next fair signs, -1 or 1: one bit each, the lowest first."""
        raw = np.atleast_1d(self._bits.random_raw(-(-rows * columns // 64)))
        bits = np.unpackbits(raw.astype("<u8").view(np.uint8), count=rows * columns, bitorder="little")
        return np.asarray(bits.reshape(rows, columns) * 2.0 - 1.0, dtype=np.float64)
