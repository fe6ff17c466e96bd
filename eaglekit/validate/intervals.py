"""How sure a measured ratio is: 95 % intervals by resampling whole texts, because tokens of one text hang together.

M texts, R resamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy
    from numpy.typing import NDArray

RESAMPLES = 2_000
"""The ends of a 95 % interval then move by less than a hundredth of its width from seed to seed."""
SEED = 20_260_101
"""Fixed: the same texts give the same interval."""
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured number and its 95 % interval; without one when fewer than two texts have anything to say."""

    value: float
    low: float | None
    high: float | None
    count: int
    """Texts that it stands on."""


def weights(texts: int) -> NDArray[numpy.int64]:
    """How often each of M texts is drawn in each resample, [R, M]: the same for every ratio, so differences pair."""
    import numpy

    generator = numpy.random.default_rng(SEED)
    return generator.multinomial(texts, numpy.full(texts, 1 / texts), size=RESAMPLES)


def ratio(
    numerators: Sequence[float], denominators: Sequence[float], *, then: Callable[[float], float] = float
) -> Estimate | None:
    """The sum of numerators over the sum of denominators, a pair per text; None when nothing was observed.

    `then` is applied to the value and to both ends: a rising function such as a square root, or adding one.
    """
    import numpy

    top, bottom = numpy.asarray(numerators, "<f8"), numpy.asarray(denominators, "<f8")
    observed = int(numpy.count_nonzero(bottom))
    if not observed:
        return None
    value = then(float(top.sum() / bottom.sum()))
    if observed < 2:
        return Estimate(value, None, None, observed)
    low, high = ends(_resampled(top, bottom))
    return Estimate(value, then(low), then(high), observed)


def product_of_ratios(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Estimate | None:
    """1 + r1 + r1 r2 + r1 r2 r3 + ...: the length that successive rates of acceptance make; None without any.

    `pairs` holds numerators and denominators per text for each draft position. A position that a resample never
    reached counts as never accepted.
    """
    import numpy

    columns = [(numpy.asarray(top, "<f8"), numpy.asarray(bottom, "<f8")) for top, bottom in pairs]
    observed = int(numpy.count_nonzero(columns[0][1])) if columns else 0
    if not observed:
        return None
    whole = [numpy.nan_to_num(_divide(top.sum(), bottom.sum())) for top, bottom in columns]
    value = float(1 + numpy.cumprod(whole).sum())
    if observed < 2:
        return Estimate(value, None, None, observed)
    drawn = numpy.stack([numpy.nan_to_num(_resampled(top, bottom)) for top, bottom in columns])
    low, high = ends(1 + numpy.cumprod(drawn, axis=0).sum(axis=0))
    return Estimate(value, low, high, observed)


def difference(
    first: tuple[Sequence[float], Sequence[float]], second: tuple[Sequence[float], Sequence[float]]
) -> Estimate | None:
    """The first ratio less the second, over the same texts: each resample draws the same texts for both."""
    import numpy

    (a, b), (c, d) = ((numpy.asarray(top, "<f8"), numpy.asarray(bottom, "<f8")) for top, bottom in (first, second))
    observed = int(numpy.count_nonzero(b * d))
    if not observed:
        return None
    value = float(a.sum() / b.sum() - c.sum() / d.sum())
    if observed < 2:
        return Estimate(value, None, None, observed)
    low, high = ends(_resampled(a, b) - _resampled(c, d))
    return Estimate(value, low, high, observed)


def _resampled(top: NDArray[numpy.float64], bottom: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    drawn = weights(len(top))
    return _divide(drawn @ top, drawn @ bottom)


def _divide(top: NDArray[numpy.float64], bottom: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """NaN where nothing was observed."""
    import numpy

    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(bottom > 0, top / bottom, numpy.nan)


def ends(drawn: NDArray[numpy.float64]) -> tuple[float, float]:
    """The ends of the middle 95 of 100 resampled values; those where nothing was observed are left out."""
    import numpy

    low, high = numpy.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
