"""Reports to look at: what `validate` and `bench` make, what they refuse, and one in which nothing is of usual size."""

from __future__ import annotations

from dataclasses import replace

from eaglekit.report import Fact, Finding, Measurement, Report, Table
from eaglekit.report.model import Chart, Series
from tests.report.making import CATEGORIES, VALIDATED

LONG = "model.language_model." + "transformer_block." * 12 + "layers.0.self_attn.kv_a_proj_with_mqa.weight_scale_inv"
UNBROKEN = "kv_a_proj_with_mqa" * 30
ARABIC = "نسر سريع يخمن الكلمات القادمة"
EAGLE = "🦅 草稿模型 आँकड़े"
LANGUAGES = (*(f"category {number} of many, with a long name" for number in range(57)), ARABIC, EAGLE, UNBROKEN)

SERVED = replace(
    VALIDATED,
    findings=(
        *VALIDATED.findings,
        Finding(
            "served-answers-differ",
            "in 3 of 10 texts vLLM answers other tokens than the reference",
            place="counting-02, counting-05, counting-07",
            got="first at token 14: 211",
            expected="207, which the reference holds for 0.02 more likely",
            hint="compare in float32: --engine-arg dtype=float32",
        ),
    ),
    tables=(
        *VALIDATED.tables,
        Table(
            "served",
            "What the engine counted, and what the reference predicts for the same answers",
            ("counter", "engine", "reference", "verdict"),
            (
                ("drafts", 53, 53, "equal"),
                ("accepted at draft 1", 37, 38, "within the interval [33, 41]"),
                ("acceptance length", "2.553", "2.571 [1.964, 2.977]", "within the interval"),
            ),
        ),
        Table(
            "engines",
            "What engines make of it as it is",
            ("engine", "versions", "verdict", "because"),
            (
                ("vllm", "<0.11.2", "rejects", "vLLM refuses fc_norm.0.weight\nvLLM has no norm_output"),
                ("sglang", "any version", "misreads", "SGLang drops 10 tensors named layers.{n}.* silently"),
                ("trtllm", ">=2026.07", "degraded", "TensorRT-LLM uses the target's embedding"),
            ),
        ),
        Table("nothing", "Config keys that say nothing about the function", ("key", "why"), ()),
        Table(
            "tensors",
            "Tensors",
            ("name", "dtype", "shape", "role"),
            tuple((f"layers.{n}.input_layernorm.weight", "BF16", [7168], "norm") for n in range(40)),
        ),
    ),
)
CONCURRENCY = (1, 2, 4, 8, 16, 32, 64)
USER, SERVER = (2.31, 2.2, 2.04, 1.8, 1.52, 1.2, 0.93), (2.28, 2.15, 2.0, 1.74, 1.44, 1.12, 0.88)
BENCHED = Report(
    command="bench",
    subject="example/Kimi-K2.5-Eagle3.1",
    facts=(
        Fact("engine", "vLLM 0.32.1", "measured: /version of both servers"),
        Fact("answers alike", "78 of 80", "measured: greedy answers of both servers, token by token"),
    ),
    measurements=(
        *(
            Measurement(f"speed-up per user at concurrency {at}", up, "times", "prompts", up - 0.1, up + 0.1, 80)
            for at, up in zip(CONCURRENCY, USER, strict=True)
        ),
        Measurement("time to first token at concurrency 64", 0.00412, "s", "requests", 0.0039, 0.00433, 80),
    ),
    charts=(
        Chart(
            "speed-up",
            "Speed-up by concurrency",
            "requests at once",
            "times the speed without the drafter",
            tuple(
                Series(name, CONCURRENCY, up, tuple(y - 0.1 for y in up), tuple(y + 0.1 for y in up))
                for name, up in (("per user", USER), ("of the server", SERVER))
            ),
        ),
        replace(
            CATEGORIES, name="speed-up-by-category", title="Speed-up by category", y_label="times the speed without"
        ),
    ),
)
REFUSED = Report(
    command="validate",
    subject="./medusa",
    findings=(
        Finding(
            "is-medusa",
            "this is a set of Medusa heads",
            place="/home/you/models/medusa-vicuna-7b-v1.3",
            got="config has medusa_num_heads",
            expected="an EAGLE-3 drafter: fc over captured states, hidden_norm, q/k/v that read 2H in layer 0",
            hint="Medusa heads have no attention; serve them with the engine's medusa method",
        ),
    ),
)


def _spread(seed: int) -> tuple[float, ...]:
    return tuple(1.2 + (place * 7 + seed) % 23 / 10 for place in range(len(LANGUAGES)))


HOSTILE = Report(
    command="validate",
    subject=f"{ARABIC}/{EAGLE}/{LONG}",
    facts=(
        Fact("tensor", LONG, f"read: {LONG}"),
        Fact(UNBROKEN, [LONG, ARABIC, EAGLE], ARABIC),
        Fact("rope", {"rope_scaling": {"factor": [1.0] * 64}}, "read: config.json"),
    ),
    findings=tuple(
        Finding(
            "json-invalid",
            (f"tensor {number}: {LONG} is not whole", ARABIC, EAGLE, UNBROKEN)[number % 4],
            place=(LONG, UNBROKEN, ARABIC)[number % 3],
            got=(UNBROKEN, "12", EAGLE)[number % 3],
            expected=LONG,
            hint=f"eaglekit explain {UNBROKEN}",
        )
        for number in range(200)
    ),
    tables=(
        Table(
            "stages",
            "Stages",
            ("stage", "outcome", "about"),
            (("structure", "failed", LONG), (UNBROKEN, "not run", ARABIC), (EAGLE, "passed", UNBROKEN)),
        ),
        Table("wide", f"{LONG}", tuple(f"column {n} {EAGLE}" for n in range(14)), (tuple(range(14)), (LONG,) * 14)),
        Table("digests", UNBROKEN, (UNBROKEN, ARABIC), ((UNBROKEN, ARABIC), (EAGLE, LONG), (1, 2.5))),
    ),
    measurements=(
        Measurement(UNBROKEN, 123456.789, UNBROKEN, LONG, -1e9, 1e12, 10**12),
        Measurement(ARABIC, 1e-9, ARABIC, EAGLE, 1e-10, 1e-8, 3),
        Measurement(LONG, 2.0, "tokens per target step", ""),
    ),
    charts=(
        Chart(
            "many",
            f"{EAGLE} {ARABIC} {LONG}",
            f"{ARABIC} {LONG}",
            f"tokens per target step {UNBROKEN}",
            tuple(
                Series(
                    name,
                    LANGUAGES,
                    _spread(seed),
                    tuple(y - 0.3 for y in _spread(seed)),
                    tuple(y + 0.3 for y in _spread(seed)),
                )
                for seed, name in enumerate(("drafter", UNBROKEN, ARABIC))
            ),
            kind="bar",
        ),
        Chart(
            "lines",
            UNBROKEN,
            UNBROKEN,
            UNBROKEN,
            tuple(
                Series(name, tuple(range(1, 65)), tuple(1000.0 ** (n % 3) * (n + at / 9) for at in range(64)))
                for n, name in enumerate((LONG, ARABIC, EAGLE, UNBROKEN, "e", "f", "g", "h"))
            ),
        ),
        Chart("words", EAGLE, ARABIC, ARABIC, (Series("one", LANGUAGES[-14:], tuple(map(float, range(14)))),)),
        Chart("tiny", "Tiny and negative", "draft depth", "share", (Series("one", (1, 2), (-1e-9, 2e-9)),)),
    ),
    result={UNBROKEN: {LONG: [UNBROKEN, {ARABIC: LONG}], EAGLE: {}}, "digest": {"sha256": "0123456789abcdef" * 4}},
)
EMPTY = Report("validate", "")

REPORTS = {"served": SERVED, "bench": BENCHED, "refused": REFUSED, "hostile": HOSTILE, "empty": EMPTY}
"""Name of a report -> the report."""
