"""The rows of the engine table for vLLM, each tried: what we say it reads, misreads and refuses, it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from eaglekit.checkpoint import open_folder
from eaglekit.dialects.given import Given
from eaglekit.dialects.reading import read
from eaglekit.dialects.target_checks import fit, given_with
from eaglekit.drafter import Spec
from eaglekit.engines import Reading, Request, Verdict, Version, reading_for
from eaglekit.engines.inspection import artefact_of
from tests.live.cases import CASES
from tests.live.cases.case import Case
from tests.live.conftest import Folder, Serve
from tests.live.drafting import drafts_of, engine_drafts, reference
from tests.live.material import Recorded, write
from tests.live.serving import STEPS, Job, Served
from tests.plan.converting import target_in

VLLM = Request("vllm", Version.parse("0.32.0"))
GOOD = (Verdict.READS, Verdict.DEGRADED)


class Tried:
    """The folders of one case."""

    def __init__(self, case: Case, folder: Path, target: Path) -> None:
        self.case, self.folder, self.target = case, folder, target
        self.stored = self.written("stored", case.stored)
        self.truth = self.written("truth", case.truth or case.stored)

    def written(self, name: str, recorded: Recorded) -> Path:
        """The folder of a drafter."""
        write(recorded.fixture, self.folder / name)
        return self.folder / name

    @property
    def given(self) -> Given:
        """What is known of the drafter besides its file."""
        return Given(aux_layers=self.case.layers or None, facts=self.case.facts)

    def spec(self) -> Spec:
        """What the drafter is."""
        beside = target_in(self.target)
        assert beside is not None
        return fit(read(open_folder(self.truth), given_with(self.given, beside)), beside)[0]

    def reading(self) -> Reading:
        """What eaglekit says vLLM makes of it."""
        beside = target_in(self.target)
        return reading_for(artefact_of(open_folder(self.stored), self.spec(), self.given, beside), VLLM)

    def drafts_as_meant(self, served: Served) -> bool:
        """Whether the right layers were captured and the right tokens drafted."""
        drafts = [row for text in served.texts for row in text.drafts]
        as_meant = drafts_of(reference(self.truth, self.target, self.given), served)
        return served.boundaries == self.case.layers and drafts == as_meant


@pytest.mark.engine
@pytest.mark.parametrize("name", CASES)
def test_vllm_does_what_the_table_says(name: str, tmp_path: Path, target_folder: Folder, engine: Serve) -> None:
    case = CASES[name]
    tried = Tried(case, tmp_path, target_folder(case.stored.target))
    reading = tried.reading()
    assert reading.unknown == ()
    verdict = reading.verdict
    if case.on_v1 is not None:
        assert any("V1 runner" in effect.text for effect in reading.effects), reading
        verdict = case.on_v1
    told = {"model": str(tried.stored), "method": "eagle3", "num_speculative_tokens": STEPS, **case.told}
    outcome = engine(Job(tried.target, told, mla=case.stored.target == "deepseek"))
    if verdict is Verdict.REJECTS:
        assert not outcome, f"it serves, although {reading.effects}"
        assert case.error, outcome.error
        assert case.error in outcome.error
        return
    assert outcome, f"{verdict.value}, yet: {outcome.error}"
    assert tried.drafts_as_meant(outcome) == (verdict in GOOD), reading.effects
    assert outcome.boundaries == (case.layers if case.captured is None else case.captured)
    assert set(case.untouched) <= set(outcome.untouched)
    assert set(case.ones) <= set(outcome.ones)
    if verdict in GOOD:
        engine_drafts(outcome)  # not too close to call
    if case.taken_for is not None:
        other = tried.written("taken-for", case.taken_for)
        assert engine_drafts(outcome) == drafts_of(
            reference(other, tried.target, Given(aux_layers=case.layers or None)), outcome
        )
