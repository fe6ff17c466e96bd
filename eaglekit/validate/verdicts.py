"""What the measured acceptance says of a drafter, and of the texts it was measured on."""

from __future__ import annotations

from collections.abc import Iterator

from eaglekit.report import Finding
from eaglekit.validate.acceptance import Acceptance

NEAR_ONE = 1.1
"""Fewer than one accepted draft in ten rounds. What is wired wrongly gets there, since it is right by chance only."""
GREEDY_SHARE = 0.9
"""Greedy responses of the same target agree with its argmax up to near ties that rounding turns; below nine in ten it
is another text than the target's own."""


FEW_TEXTS = 20
"""With fewer, resampling whole texts makes intervals that are too narrow."""


def acceptance_findings(total: Acceptance) -> Iterator[Finding]:
    """Errors of a drafter that is hardly ever right or could not be measured, warnings about the texts."""
    if total.length is None:
        yield Finding(
            "texts-too-short",
            f"none of {total.texts} texts is long enough for one round of {len(total.rates)} drafts",
            place="texts",
            got="no complete round",
            expected=f"responses of at least {len(total.rates) + 1} tokens",
            hint="give longer responses, or fewer --draft-tokens",
        )
        return
    if total.length.value < NEAR_ONE:
        yield Finding(
            "acceptance-none",
            f"the acceptance length is {total.length.value:.3f}: hardly a draft is accepted",
            place="acceptance length",
            got=f"{total.length.value:.3f} over {total.rounds} rounds",
            expected=f"above {NEAR_ONE:g}",
            hint="most often the layers are one block off (--probe-layers tells), then ignored or wrong flags, a wrong "
            "map or rope base, or another target",
        )
    if total.measured < FEW_TEXTS:
        one = total.measured == 1
        yield Finding(
            "texts-few",
            "one text is measured: there is no interval, and another text may give another figure"
            if one
            else f"{total.measured} texts are measured: the intervals are narrower than the truth",
            place="texts",
            got=str(total.measured),
            expected=f"at least {FEW_TEXTS}; hundreds to compare two drafters",
            hint="give more prompts",
        )
    if total.agreement is not None and total.agreement.value < GREEDY_SHARE:
        yield Finding(
            "response-not-greedy",
            f"only {100 * total.agreement.value:.1f} % of the response tokens are what the target itself would say",
            place="texts",
            got=f"{total.agreement.value:.3f}",
            expected=f"at least {GREEDY_SHARE:g}",
            hint="--generate N lets the target answer itself",
        )
