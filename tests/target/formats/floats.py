"""The formulas of small floats in whole numbers and Python floats: shares no code with what it checks."""

from __future__ import annotations

import struct

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


def e4m3(byte: int) -> float:
    """One sign, four exponent bits with bias 7, three of the fraction; NaN where all seven are set."""
    sign, exponent, fraction = -1.0 if byte >> 7 else 1.0, byte >> 3 & 15, byte & 7
    if exponent == 15 and fraction == 7:
        return float("nan")
    return sign * (fraction * 2.0**-9 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 10))


def to_float32(number: float) -> float:
    """Rounded to the nearest float32, ties to even."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def bits32(number: float) -> int:
    """The bits of a number as float32."""
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def bits16(number: float) -> int:
    """The bits of a float32 rounded to BF16, ties to even."""
    bits = bits32(number)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
