"""A report as `validate` makes it, and one in which every name is an attack."""

from __future__ import annotations

from eaglekit.report import Fact, Finding, Measurement, Report, Severity, Table
from eaglekit.report.model import Chart, Series

POSITIONS = Chart(
    "acceptance-by-position",
    "Acceptance by draft position",
    "draft position",
    "share of served rounds",
    (
        Series("accepted", (1, 2, 3), (0.781, 0.583, 0.421), (0.762, 0.556, 0.393), (0.799, 0.611, 0.449)),
        Series("given the ones before", (1, 2, 3), (0.781, 0.746, 0.722), (0.762, 0.721, 0.69), (0.799, 0.77, 0.753)),
        Series("baseline: accepted", (1, 2, 3), (0.702, 0.452, 0.266), (0.68, 0.425, 0.241), (0.724, 0.479, 0.292)),
        Series("baseline: given the ones before", (1, 2, 3), (0.7, 0.64, 0.59), (0.68, 0.61, 0.55), (0.72, 0.67, 0.62)),
    ),
)  # fmt: skip
CATEGORIES = Chart(
    "acceptance-by-category",
    "Acceptance length by category",
    "category",
    "tokens per target step",
    (
        Series(
            "drafter",
            ("coding", "humanities", "math", "multilingual", "qa", "summarization", "writing"),
            (3.12, 2.61, 3.04, 2.13, 2.4, 2.83, 2.37),
            (3.01, 2.5, 2.9, 2.01, 2.28, 2.7, 2.26),
            (3.23, 2.72, 3.18, 2.25, 2.52, 2.96, 2.48),
        ),
        Series(
            "baseline",
            ("coding", "humanities", "math", "multilingual", "qa", "summarization", "writing"),
            (2.7, 2.25, 2.66, 1.8, 2.07, 2.4, 2.05),
            (2.6, 2.15, 2.55, 1.7, 1.97, 2.3, 1.95),
            (2.8, 2.35, 2.77, 1.9, 2.17, 2.5, 2.15),
        ),
    ),
    kind="bar",
)
STATES = Chart(
    "state-by-depth",
    "State size by draft depth",
    "draft depth",
    "root mean square of the channels",
    (
        Series("residual out", tuple(range(1, 9)), (1.91, 1.98, 2.03, 2.05, 2.08, 2.1, 2.11, 2.11)),
        Series("baseline: residual out", tuple(range(1, 9)), (1.88, 2.6, 3.5, 4.61, 5.9, 7.42, 9.1, 11.0)),
    ),
)
ATTENTION = Chart(
    "attention-by-depth",
    "Where attention goes by draft depth",
    "draft depth",
    "share of attention",
    (
        Series("first token", tuple(range(1, 9)), (0.52, 0.55, 0.57, 0.58, 0.59, 0.6, 0.6, 0.61)),
        Series("context", tuple(range(1, 9)), (0.44, 0.36, 0.31, 0.27, 0.25, 0.23, 0.22, 0.2)),
        Series("own drafts", tuple(range(1, 9)), (0.04, 0.09, 0.12, 0.15, 0.16, 0.17, 0.18, 0.19)),
    ),
)
STAGES = Table(
    "stages",
    "Stages",
    ("stage", "outcome", "about"),
    (
        ("structure", "passed", "sizes, vocabulary and map fit the target"),
        ("numbers", "passed", "every weight is finite"),
        ("behaviour", "passed", "80 texts, 14731 response tokens"),
        ("layer probe", "not run", "not asked for"),
    ),
)
BY_POSITION = Table(
    "acceptance-by-position",
    "Acceptance by draft position, with 95 % intervals",
    ("draft", "accepted", "given the ones before", "sampled"),
    (
        (1, "0.781 [0.762, 0.799]", "0.781 [0.762, 0.799]", "0.742 [0.731, 0.753]"),
        (2, "0.583 [0.556, 0.611]", "0.746 [0.721, 0.770]", "0.709 [0.695, 0.722]"),
        (3, "0.421 [0.393, 0.449]", "0.722 [0.690, 0.753]", "0.688 [0.672, 0.704]"),
    ),
)
PER_STEP = "tokens per target step"
MEASURED = (
    Measurement("acceptance length", 2.785, PER_STEP, "greedy; served rounds; ceiling 4", 2.71, 2.861, 5312),
    Measurement("acceptance length, every slot", 2.751, PER_STEP, "greedy; every slot", 2.69, 2.812, 14731),
    Measurement("acceptance length, sampled", 2.604, PER_STEP, "temperature 1; every slot", 2.55, 2.658, 14731),
    Measurement("responses that are the target's own", 0.998, "share", "response tokens", 0.996, 0.999, 80),
    Measurement("baseline: acceptance length", 2.42, PER_STEP, "greedy"),
)
WARNED = Finding(
    "json-number",
    "config.json has rope_theta 1e400, a number JSON readers do not agree on",
    place="config.json: rope_theta",
    got="1e400",
    expected="a finite number",
    hint="write the number the model was trained with",
    severity=Severity.WARNING,
)
NOTED = Finding(
    "prompts-first-turn",
    "80 of 80 rows of question.jsonl ask again without the answer in between; only the first was taken",
    place="question.jsonl:1, question.jsonl:2, ...",
    hint="for later turns give messages with the target's own answers",
)
DIGEST = "3f786850e387550fdab836ed7e6dc881de23001b9c6d1b9b9a3b7a4ac9bb0f39"
VALIDATED = Report(
    command="validate",
    subject="example/Kimi-K2.5-Eagle3.1",
    facts=(
        Fact("drafter", "EAGLE 3.1, MLA, 1 layer, 3 aux states", "read: config.json"),
        Fact("aux layers", [2, 30, 58], "read: config.json: eagle_aux_hidden_state_layer_ids"),
        Fact("state growth over depth", "1.10 x", "measured: residual stream at depth 8 over depth 1"),
    ),
    findings=(WARNED, NOTED),
    tables=(STAGES, BY_POSITION),
    measurements=MEASURED,
    charts=(POSITIONS, CATEGORIES, STATES, ATTENTION),
    result={
        "drafter": {
            "digest": f"sha256:{DIGEST}",
            "files": {"model.safetensors": {"sha256": DIGEST, "size_bytes": 2_147_483_648}},
        },
        "texts": {"count": 80, "tokens": 32_114},
        "settings": {"draft_tokens": 3, "seeds": {"bootstrap": 0}, "min_acceptance_length": None},
    },
)
