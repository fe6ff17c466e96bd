"""The stages of a validation: which ran, which did not, and why. Never silently."""

from __future__ import annotations

from dataclasses import dataclass, field

from eaglekit.report import Table

STRUCTURE, CAPTURE, NUMBERS, BEHAVIOUR, PROBE = "structure", "capture", "numbers", "behaviour", "layer probe"
SERVED = "served"
ORDER = (STRUCTURE, CAPTURE, NUMBERS, BEHAVIOUR, SERVED, PROBE)
PASSED, FAILED, LEFT_OUT = "passed", "failed", "not run"


@dataclass
class Stages:
    """What became of each stage, in order."""

    outcome: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Stage -> outcome and a sentence about it."""

    def passed(self, stage: str, about: str) -> None:
        """The stage ran and found no error."""
        self.outcome[stage] = (PASSED, about)

    def failed(self, stage: str, about: str) -> None:
        """The stage ran and found errors, so that none behind it runs."""
        self.outcome[stage] = (FAILED, about)

    def ended(self, stage: str, about: str, errors: int) -> None:
        """The stage ran, and found so many errors."""
        if errors:
            self.failed(stage, f"{errors} error{'s' if errors > 1 else ''}; {about}")
        else:
            self.passed(stage, about)

    def left_out(self, why: str, *stages: str) -> None:
        """These stages did not run, for this reason; a reason that was given before stays."""
        for stage in stages:
            self.outcome.setdefault(stage, (LEFT_OUT, why))

    def table(self) -> Table:
        """Every stage as a row."""
        rows = tuple((name, *self.outcome[name]) for name in ORDER if name in self.outcome)
        return Table("stages", "Stages", ("stage", "outcome", "about"), rows)

    def as_json(self) -> dict[str, str]:
        """Stage -> outcome, for the binding."""
        return {name: self.outcome[name][0] for name in ORDER if name in self.outcome}
