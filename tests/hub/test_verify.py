"""What `eaglekit verify` can say where nothing computes: of reports, cards and claims that are not what they seem."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eaglekit.dialects.given import SETTINGS
from eaglekit.drafter.spec import jsonable
from eaglekit.hub.card.claims import read_card_claims
from eaglekit.report import Refusal, Report
from eaglekit.validate.claims import Claim, Here, Verdict, compare, disagreement
from eaglekit.validate.protocol import read_protocol
from tests.cli.running import Finished
from tests.hub.published import PROMPTS, REPORT, TARGET, validated

DOCUMENT: dict[str, Any] = json.loads(REPORT.read_bytes())
DIGEST = "0" * 64
WITHOUT_TORCH = """
import sys
for name in ("torch", "transformers", "jaxtyping"):
    sys.modules[name] = None  # as if it were not installed
from eaglekit.cli.main import main
sys.argv = ["eaglekit", *sys.argv[1:]]
main()
"""


def verify(*words: object) -> Finished:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "verify", *map(str, words)],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return validated(tmp_path)


def rewrite(folder: Path, document: dict[str, Any]) -> None:
    (folder / "report.json").write_text(json.dumps(document))


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    """The report with one value at a path of keys replaced."""
    document = copy.deepcopy(DOCUMENT)
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return document


def test_without_the_packages_what_is_read_is_compared_and_no_figure_is_confirmed(folder: Path) -> None:
    done = verify(folder, "--target", TARGET, "--prompts", PROMPTS, "--json")
    claims = {(claim["place"], claim["name"]): claim for claim in done.document["result"]["claims"]}
    assert done.code == 1
    assert "verify-nothing-repeated" in done.codes
    assert claims["facts", "aux_layers"]["verdict"] == claims["stages", "structure"]["verdict"] == "holds"
    figures = [claim for (place, _), claim in claims.items() if place in ("measurements", "tables", "charts")]
    assert {claim["verdict"] for claim in figures} == {"not repeated here"}
    assert "pip install 'eaglekit[validate]'" in figures[0]["why"]


def test_people_read_that_nothing_is_confirmed(folder: Path) -> None:
    done = verify(folder)
    assert done.code == 1
    assert done.err.splitlines()[-1].endswith("could be repeated here, so none of them is confirmed")
    assert f"next: eaglekit verify {folder} --prompts FILE --target TARGET" in done.err
    assert "not repeated here" not in done.out  # no table of rows that all say the same


def test_the_last_line_names_an_error_that_is_about_something_else(folder: Path) -> None:
    (folder / "README.md").write_text("---\na: [\n---\n")
    done = verify(folder, "--target", TARGET, "--prompts", PROMPTS)
    assert re.search(r"so none of them is confirmed; 1 error: .+ \(card-front-matter\)$", done.err.splitlines()[-1])


def test_a_folder_without_a_report_claims_nothing_that_could_be_verified(folder: Path) -> None:
    (folder / "report.json").unlink()
    done = verify(folder, "--json")
    assert (done.code, done.codes) == (1, ["verify-report-absent"])


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\xff", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"schema": "eaglekit/report/1"}', id="a stub"),
        pytest.param(json.dumps({**DOCUMENT, "command": "inspect"}).encode(), id="of another command"),
        pytest.param(REPORT.read_bytes().replace(b"3.0701754385964914", b"NaN"), id="no number"),
        pytest.param(b"[" * 100_000, id="deeply nested"),
    ],
)
def test_what_is_no_report_is_refused(folder: Path, data: bytes) -> None:
    (folder / "report.json").write_bytes(data)
    done = verify(folder, "--json")
    assert done.code == 1
    assert set(done.codes) <= {"report-invalid", "report-not-validation"}


def test_a_number_pulled_out_of_its_own_interval_is_refused(folder: Path) -> None:
    rewrite(folder, changed("measurements", 0, "value", to=3.9))
    assert verify(folder, "--json").codes == ["report-invalid"]


def test_names_that_steer_a_terminal_are_shown_and_not_obeyed(folder: Path) -> None:
    document = changed("measurements", 0, "name", to="\x1b[2J\x1b]0;owned\x07")
    document["facts"]["\x1b[31mfact"] = {"value": "\x1b[5m", "origin": "\x1b[0m"}
    rewrite(folder, document)
    done = verify(folder, "--target", TARGET, "--prompts", PROMPTS)
    assert done.code == 1
    assert "\x1b" not in done.out + done.err


SETTINGS_REFUSED = {
    "a million drafts": ("draft_tokens", 1_000_000),
    "no drafts": ("draft_tokens", 0),
    "endless depth": ("depth", 10**12),
    "a cold target": ("temperature", 0.0),
    "answers without end": ("generate", 10**15),
    "too many texts": ("limit", 10**15),
    "a gate out of reach": ("min_acceptance_length", 5.0),
    "another seed": ("seeds", {"bootstrap": 1, "probe": 2}),
    "a seed that is text": ("seeds", {"bootstrap": "1", "probe": 2}),
    "other resamples": ("resamples", 10**9),
    "an unknown convention": ("aux_convention", "input"),
    "hundreds of layers": ("aux_layers", list(range(300))),
    "a layer beyond every target": ("aux_layers", [10**15]),
    "a fact nobody knows": ("set", {"exec": "rm -rf /"}),
    "a fact that is a list": ("set", {"rope_theta": [1, 2]}),
    "a negative base": ("set", {"rope_theta": -1.0}),
    "an embedding of a third kind": ("embedding", "drop"),
    "a key of another version": ("lookahead", 3),
}


@pytest.mark.parametrize(("name", "value"), SETTINGS_REFUSED.values(), ids=SETTINGS_REFUSED)
def test_a_setting_that_cannot_be_followed_is_refused(name: str, value: Any) -> None:
    with pytest.raises(Refusal) as refused:
        read_protocol(changed("result", "settings", name, to=value))
    assert {finding.code for finding in refused.value.findings} == {"verify-report-unusable"}


RESULT_REFUSED = {
    "a device that is none": ("arithmetic", "device", "/etc/passwd"),
    "a dtype that is none": ("arithmetic", "dtype", "float8"),
    "activations that are none": ("arithmetic", "activations", "w1a1"),
    "a digest that is none": ("target", "digest", "sha256:abc"),
    "a Hub target without a commit": ("target", "kind", "hub"),
    "a prompt digest that is none": ("prompts", "sha256", "../../etc/passwd"),
}


@pytest.mark.parametrize(("part", "name", "value"), RESULT_REFUSED.values(), ids=RESULT_REFUSED)
def test_material_that_is_named_wrongly_is_refused(part: str, name: str, value: Any) -> None:
    with pytest.raises(Refusal) as refused:
        read_protocol(changed("result", part, name, to=value))
    assert {finding.code for finding in refused.value.findings} == {"verify-report-unusable"}


def test_a_report_with_prompts_and_a_capture_is_refused() -> None:
    both = {"sha256": DIGEST, "boundaries": [1], "target": {}}
    with pytest.raises(Refusal, match="both prompts and a capture"):
        read_protocol(changed("result", "capture", to=both))


SAID = {
    "norm_output": "true", "norm_before_residual": "false", "tie_word_embeddings": "true", "attention_bias": "false",
    "mlp_bias": "true", "rope_theta": "500000", "rms_norm_eps": "1e-05", "hidden_act": "silu",
    "num_attention_heads": "32", "num_key_value_heads": "8", "head_dim": "128", "vocab_size": "1000",
    "target_hidden_size": "64", "max_position_embeddings": "4096", "mask_token_id": "7", "target_layers": "32",
    "target_name": "org/true", "target_architecture": "LlamaForCausalLM", "speculative_tokens": "3", "map": "first",
}  # fmt: skip


def test_every_fact_that_can_be_set_is_tried() -> None:
    assert set(SAID) == set(SETTINGS)


@pytest.mark.parametrize("name", SAID)
def test_a_fact_that_was_set_comes_back_as_it_was_said(name: str) -> None:
    setting = SETTINGS[name]
    fact = setting.parse(SAID[name])
    written = json.loads(json.dumps(jsonable(fact)))
    given = read_protocol(changed("result", "settings", "set", to={setting.fact: written})).given
    assert (given.facts[setting.fact], type(given.facts[setting.fact])) == (fact, type(fact))


def test_options_about_the_drafter_come_back_as_they_were_given() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["result"]["settings"] |= {"from": "sglang", "drop": ["extra"], "aux_convention": "output-of",
                                       "embedding": "keep", "aux_layers": [3, 4, 5]}  # fmt: skip
    protocol = read_protocol(document)
    given = protocol.given
    assert (given.dialect, given.drops, given.aux_convention) == ("sglang", ("extra",), "output-of")
    assert given.aux_layers == (3, 4, 5)
    assert protocol.settings["embedding"] == "keep"


def figure(value: float, low: float | None = None, high: float | None = None) -> Claim:
    return Claim("measurements", "length", value, low, high)


CASES = {
    "the same": (figure(3.0, 2.8, 3.2), figure(3.0, 2.8, 3.2), True),
    "rounding": (figure(3.0), figure(3.02), True),
    "within": (figure(3.0, 2.8, 3.2), figure(3.1, 2.9, 3.3), True),
    "outside": (figure(3.0, 2.8, 3.2), figure(2.7, 2.5, 2.9), False),
    "no interval": (figure(3.0), figure(3.1), False),
    "an interval of no width": (figure(1.0, 1.0, 1.0), figure(0.9, 0.8, 1.0), False),
    "no width, and the same": (figure(1.0, 1.0, 1.0), figure(0.995, 0.99, 1.0), True),
    "widened": (figure(3.5, 1.0, 4.0), figure(3.0, 2.8, 3.2), False),
    "widened around the truth": (figure(3.0, 1.0, 4.0), figure(3.0, 2.8, 3.2), False),
    "narrowed": (figure(3.0, 2.99, 3.01), figure(3.0, 2.8, 3.2), False),
    "an interval out of nothing": (figure(3.0, 2.8, 3.2), figure(3.0), False),
    "zero": (figure(0.0, 0.0, 0.0), figure(0.0, 0.0, 0.0), True),
    "not zero": (figure(0.0, 0.0, 0.0), figure(0.2, 0.1, 0.3), False),
    "an enormous number": (figure(2**62), figure(3.0), False),
}


@pytest.mark.parametrize(("claimed", "measured", "holds"), CASES.values(), ids=CASES)
def test_a_figure_holds_by_the_rule(claimed: Claim, measured: Claim, holds: bool) -> None:
    assert (disagreement(claimed, measured) == "") is holds


def test_a_figure_that_is_claimed_twice_does_not_hold() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["measurements"].append(document["measurements"][0])
    *_, again = (o for o in compare(document, DOCUMENT, Here()) if o.claim.name == "acceptance length")
    assert (again.verdict, again.why) == (Verdict.FAILS, "it is claimed twice")


def test_a_figure_of_another_version_is_not_repeated_and_one_of_this_version_does_not_hold() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["measurements"].append({"name": "speed-up", "value": 5.0, "unit": "x", "note": ""})
    for same_tool, verdict in ((False, Verdict.NOT_REPEATED), (True, Verdict.FAILS)):
        outcomes = compare(document, DOCUMENT, Here(same_tool=same_tool))
        assert [o.verdict for o in outcomes if o.claim.name == "speed-up"] == [verdict]


CARD = f"""---
license: mit
base_model: org/target
model-index:
- name: drafter
  results:
  - task: {{type: text-generation}}
    dataset: {{name: 50 texts, type: eaglekit-texts}}
    metrics:
    - type: acceptance-length
      name: acceptance length
      value: 3.0701754385964914
      args: {{low: 2.821549900259929, high: 3.3054387536238714, count: 228, draft_tokens: 3}}
  - task: {{type: text-generation}}
    dataset: {{name: 50 texts, type: eaglekit-texts, config: brackets}}
    metrics:
    - type: acceptance-length
      name: acceptance length
      value: 2.88
eaglekit:
  version: 0.1.0
  target:
    repo: org/target
    digest: {DOCUMENT["result"]["target"]["digest"]}
  report: sha256:{DIGEST}
---
# A drafter
"""


def card(change: Callable[[str], str] = str) -> list[tuple[str, str]]:
    """Code and place of every finding about the card as changed."""
    claims = read_card_claims(change(CARD).encode(), Report.from_json(DOCUMENT), DIGEST)
    return [(finding.code, finding.place) for finding in claims.findings]


def test_a_card_made_from_its_report_agrees_with_it_rounded_or_not() -> None:
    claims = read_card_claims(CARD.encode(), Report.from_json(DOCUMENT), DIGEST)
    assert (claims.count, claims.findings) == (2, ())


CARDS: dict[str, tuple[str, str, str, str]] = {
    "another length": ("3.0701754385964914", "3.9", "verify-card-differs", "README.md: model-index: acceptance length"),
    "rounded to a whole number": (
        "3.0701754385964914", "3", "verify-card-differs", "README.md: model-index: acceptance length"),
    "text for a number": (
        "3.0701754385964914", "'3.07'", "verify-card-differs", "README.md: model-index: acceptance length"),
    "another interval": (
        "2.821549900259929", "3.05", "verify-card-differs", "README.md: model-index: acceptance length"),
    "another count": ("228", "22800", "verify-card-differs", "README.md: model-index: acceptance length"),
    "another category": ("2.88", "3.88", "verify-card-differs", "README.md: model-index: acceptance length, brackets"),
    "another report": (DIGEST, "1" * 64, "verify-card-differs", "README.md: eaglekit.report"),
    "another target": (
        DOCUMENT["result"]["target"]["digest"], f"sha256:{DIGEST}", "verify-card-differs",
        "README.md: eaglekit.target.digest"),
    "another base model": ("base_model: org/target", "base_model: org/other", "verify-card-differs",
                           "README.md: base_model"),
    "a figure nobody measured": (
        "name: acceptance length\n      value: 3.07", "name: speed-up\n      value: 3.07", "verify-card-unmeasured",
        "README.md: model-index: speed-up"),
    "figures of others": ("type: eaglekit-texts, config", "type: humaneval, config", "verify-card-unmeasured",
                          "README.md: model-index: acceptance length, 50 texts"),
    "a reference": ("license: mit", "license: &a mit", "card-front-matter", "README.md: front matter"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "code", "place"), CARDS.values(), ids=CARDS)
def test_a_card_that_says_another_thing_than_its_report_is_told_by_key(
    before: str, after: str, code: str, place: str
) -> None:
    assert card(lambda text: text.replace(before, after, 1)) == [(code, place)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no front matter", id="prose"),
        pytest.param("---\nmodel-index: 7\n---\n", id="a number for an index"),
        pytest.param("---\nmodel-index:\n- 1\n- results: x\n- results: [1, {metrics: 2}]\n---\n", id="other shapes"),
        pytest.param("---\neaglekit: []\nbase_model: [a, b]\n---\n", id="lists"),
    ],
)
def test_a_card_of_another_shape_claims_nothing(text: str) -> None:
    claims = read_card_claims(text.encode(), Report.from_json(DOCUMENT), DIGEST)
    assert (claims.count, claims.findings) == (0, ())


def test_the_command_tells_a_card_with_another_number(folder: Path) -> None:
    (folder / "README.md").write_text(CARD.replace("3.0701754385964914", "3.9"))
    done = verify(folder, "--json")
    assert done.code == 1
    assert {"verify-card-differs", "verify-nothing-repeated"} == set(done.codes)
    assert "3.9" in [finding.get("got") for finding in done.document["findings"]]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--prompts", "p", "--capture", "c"], id="prompts and a capture"),
        pytest.param(["--gpu", "--device", "cpu"], id="two devices"),
    ],
)
def test_options_that_contradict_each_other_are_usage_errors(words: list[str]) -> None:
    assert verify("drafter", *words).code == 2
