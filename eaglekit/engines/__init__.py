"""Knows what each serving engine, version by version, does with a checkpoint: rows with sources, and checks over them.

Must never know how to write a checkpoint, nor touch a disk or a tensor's values.
"""

from eaglekit.engines.evaluate import reading_for, readings
from eaglekit.engines.findings import as_findings
from eaglekit.engines.listing import as_markdown, capabilities_table, engine_markdown, engines_table
from eaglekit.engines.model import Artefact, Effect, Reading, Request, Span, Verdict, Version
from eaglekit.engines.requests import parse_request
from eaglekit.engines.rules import Behaviour, Capability, Confirmation, Engine, Feature, Trials
from eaglekit.engines.tables import ENGINES

__all__ = [
    "ENGINES",
    "Artefact",
    "Behaviour",
    "Capability",
    "Confirmation",
    "Effect",
    "Engine",
    "Feature",
    "Reading",
    "Request",
    "Span",
    "Trials",
    "Verdict",
    "Version",
    "as_findings",
    "as_markdown",
    "capabilities_table",
    "engine_markdown",
    "engines_table",
    "parse_request",
    "reading_for",
    "readings",
]
