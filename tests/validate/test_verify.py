"""`eaglekit verify` as a receiver calls it, on a published drafter whose acceptance is known by construction."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eaglekit.checkpoint.copying import Written
from eaglekit.plan.manifest import MANIFEST, manifest_text
from tests.cli.running import Finished, eaglekit
from tests.hub import Client, Hub
from tests.validate import copycat

DRAFTER, TARGET = "org/drafter", "org/target"
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with Hub(tmp_path_factory.mktemp("hub") / "storage") as hub:
        yield hub


@pytest.fixture(scope="module")
def base(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target on the Hub, a drafter for it in a folder, and the report that was made with both."""
    base = tmp_path_factory.mktemp("published")
    copycat.target().write(base / "target")
    copycat.drafter().write(base / "source")
    copycat.write_prompts(base / "prompts.jsonl")
    hub.publish(TARGET, base / "target")
    done = run(
        hub, base, "convert", base / "source", base / "drafter", "--aux-convention", "boundary", "--target", TARGET
    )
    assert done.code == 0, done.err
    done = run(
        hub, base, "validate", base / "drafter", "--target", TARGET, "--prompts", base / "prompts.jsonl",
        "--limit", "4", "-o", base / "drafter" / "report.json",
    )  # fmt: skip
    assert done.code == 0, done.err
    seal(base / "drafter")
    return base


def run(hub: Hub, base: Path, *words: object) -> Finished:
    client = Client(hub, base / "home", more={"OMP_NUM_THREADS": "1"})
    return eaglekit(*words, environment=client.environment)


def seal(folder: Path) -> None:
    """A manifest over everything in the folder but the card."""
    files = {
        path.name: Written(path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
        if path.name not in (MANIFEST, "README.md")
    }
    (folder / MANIFEST).unlink(missing_ok=True)
    (folder / MANIFEST).write_text(manifest_text(files))


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """A copy of what is published, to be changed."""
    return Path(shutil.copytree(base / "drafter", tmp_path / "drafter"))


def edit(folder: Path, change: Edit) -> None:
    """Change the report, and make manifest and report belong together again: what somebody who cheats would do."""
    document = json.loads((folder / "report.json").read_text())
    change(document)
    (folder / "report.json").write_text(json.dumps(document))
    seal(folder)


def figure(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in document["measurements"] if m["name"] == name)
    return found


def verdicts(done: Finished) -> dict[str, str]:
    return {f"{claim['place']}: {claim['name']}": claim["verdict"] for claim in done.document["result"]["claims"]}


def test_everything_a_push_publishes_is_repeated_from_the_hub_alone(hub: Hub, base: Path, folder: Path) -> None:
    shutil.copy(base / "prompts.jsonl", folder)
    seal(folder)
    hub.publish(DRAFTER, folder)
    done = run(hub, base, "verify", DRAFTER, "--json")
    assert done.code == 0, done.out
    assert set(verdicts(done).values()) == {"holds"}
    assert {"facts: aux_layers", "stages: behaviour", "measurements: acceptance length"} <= set(verdicts(done))
    assert "tables: acceptance-by-category: category code, served" in verdicts(done)
    assert "charts: state-by-depth: residual out at 8" in verdicts(done)
    claim = next(c for c in done.document["result"]["claims"] if c["name"] == "acceptance length")
    assert (claim["claimed"], claim["why"]) == (claim["measured"], "the same")


def test_a_pulled_folder_with_the_prompts_given_says_it_in_one_sentence(hub: Hub, base: Path) -> None:
    done = run(hub, base, "verify", base / "drafter", "--prompts", base / "prompts.jsonl")
    assert done.code == 0, done.out + done.err
    count = len(json.loads((base / "drafter/report.json").read_text())["measurements"])
    assert done.err.splitlines()[-1] == f"verify: {count} of {count} measured figures hold"
    assert "acceptance length  " in done.out


def test_edited_claims_do_not_hold_each_for_its_reason(hub: Hub, base: Path, folder: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        figure(document, "acceptance length").update(value=3.4, low=3.2, high=3.6)
        widened = figure(document, "acceptance length, every slot")
        widened.update(value=widened["value"] + 1, low=1.0, high=4.0)
        narrowed = figure(document, "acceptance rate at draft 1")
        narrowed.update(low=narrowed["value"] - 0.001, high=narrowed["value"] + 0.001)
        figure(document, "acceptance rate at draft 2")["unit"] = "tokens"
        document["measurements"].append({"name": "speed-up", "value": 5.0, "unit": "x", "note": ""})
        document["facts"]["aux_layers"]["value"] = [1, 2, 3]
        document["tables"]["acceptance-by-category"][0]["served"] = "3.900 [3.800, 4.000]"
        series = document["charts"]["state-by-depth"]["series"][0]
        series["y"][7] /= 3

    edit(folder, change)
    done = run(hub, base, "verify", folder, "--prompts", base / "prompts.jsonl", "--json")
    claims = done.document["result"]["claims"]
    wrong = {claim["name"]: claim["why"] for claim in claims if claim["verdict"] == "does not hold"}
    assert done.code == 1
    assert {name: why.split(" times")[0].rstrip("0123456789.") for name, why in wrong.items()} == {
        "acceptance length": "what is measured lies outside the claimed interval",
        "acceptance length, every slot": "it lies outside the interval that is measured",
        "acceptance rate at draft 1": "its interval is ",
        "acceptance rate at draft 2": "it is claimed in 'tokens' and measured in 'share'",
        "speed-up": "the version that wrote the report measures nothing of this name",
        "aux_layers": "something else is found",
        "acceptance-by-category: category code, served": "what is measured lies outside the claimed interval",
        "state-by-depth: residual out at 8": "it lies outside its own interval",
    }
    assert set(done.codes) == {"verify-claim-fails"}
    assert "5 do not hold" in done.document["result"]["sentence"]


def test_a_number_moved_within_its_interval_is_noticed_all_the_same(hub: Hub, base: Path, folder: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        claimed = figure(document, "acceptance length")
        claimed["value"] = (claimed["value"] + claimed["high"]) / 2

    edit(folder, change)
    done = run(hub, base, "verify", folder, "--prompts", base / "prompts.jsonl", "--json")
    assert (done.code, done.codes) == (0, ["verify-claim-moved"])
    claim = next(c for c in done.document["result"]["claims"] if c["name"] == "acceptance length")
    assert (claim["verdict"], claim["why"]) == ("holds", "within its interval")


def test_a_report_made_against_the_file_is_not_about_what_engines_serve(hub: Hub, base: Path, tmp_path: Path) -> None:
    copycat.drafter(ids=(3, 4, 5)).write(tmp_path / "off")
    report = tmp_path / "report.json"
    words = ("--aux-layers", "2,3,4", "--target", TARGET, "--prompts", base / "prompts.jsonl", "--limit", "4")
    assert run(hub, base, "validate", tmp_path / "off", *words, "-o", report).code == 0
    report.rename(tmp_path / "off" / "report.json")
    done = run(hub, base, "verify", tmp_path / "off", "--prompts", base / "prompts.jsonl", "--json")
    assert (done.code, done.codes) == (1, ["verify-read-otherwise"])


def test_another_arithmetic_is_told_and_figures_hold_within_their_intervals(hub: Hub, base: Path) -> None:
    done = run(
        hub, base, "verify", base / "drafter", "--prompts", base / "prompts.jsonl", "--dtype", "bfloat16", "--json"
    )
    assert done.code == 0, done.out
    assert "verify-arithmetic-other" in done.codes
    assert done.document["facts"]["arithmetic"]["value"].endswith("here: dtype bfloat16 instead of float32")


def test_without_the_texts_nothing_is_confirmed_and_that_is_no_success(hub: Hub, base: Path) -> None:
    done = run(hub, base, "verify", base / "drafter", "--json")
    assert (done.code, done.codes) == (1, ["verify-nothing-repeated"])
    assert set(verdicts(done).values()) == {"not repeated here"}
    assert "--prompts" in done.document["result"]["claims"][0]["why"]


def test_a_target_that_the_hub_does_not_show_is_told_and_nothing_holds(hub: Hub, base: Path, folder: Path) -> None:
    edit(folder, lambda document: document["result"]["target"].update(repo="org/gone"))
    done = run(hub, base, "verify", folder, "--prompts", base / "prompts.jsonl", "--json")
    assert (done.code, done.codes) == (1, ["verify-nothing-repeated"])
    assert "org/gone" in done.document["findings"][0]["message"]


def test_a_target_that_only_the_card_names_is_taken_when_its_digest_is_that_of_the_report(
    hub: Hub, base: Path, folder: Path
) -> None:
    def in_a_folder(document: dict[str, Any]) -> None:
        target = document["result"]["target"]
        named.update(repo=target.pop("repo"), commit=target.pop("commit"))
        target["kind"] = "local"

    named: dict[str, str] = {}
    edit(folder, in_a_folder)
    digest = hashlib.sha256((folder / "report.json").read_bytes()).hexdigest()
    place = f"target: {{repo: {named['repo']}, commit: '{named['commit']}'}}"
    (folder / "README.md").write_text(f"---\nlicense: mit\neaglekit:\n  {place}\n  report: sha256:{digest}\n---\n")
    done = run(hub, base, "verify", folder, "--prompts", base / "prompts.jsonl", "--json")
    assert (done.code, set(verdicts(done).values())) == (0, {"holds"})


def test_other_prompts_are_refused_with_both_digests(hub: Hub, base: Path, tmp_path: Path) -> None:
    other = copycat.write_prompts(tmp_path / "other.jsonl", dict(list(copycat.TEXTS.items())[:5]))
    done = run(hub, base, "verify", base / "drafter", "--prompts", other, "--json")
    (finding,) = done.document["findings"]
    assert (done.code, finding["code"]) == (1, "verify-prompts-other")
    assert finding["got"] == f"sha256 {hashlib.sha256(other.read_bytes()).hexdigest()}"
    assert finding["expected"] == f"sha256 {hashlib.sha256((base / 'prompts.jsonl').read_bytes()).hexdigest()}"


def test_another_target_is_refused_before_anything_of_it_is_run(hub: Hub, base: Path, tmp_path: Path) -> None:
    other = copycat.target()
    other.config["rope_theta"] = 20_000.0
    other.write(tmp_path / "target")
    words = ("--prompts", base / "prompts.jsonl", "--target", tmp_path / "target")
    done = run(hub, base, "verify", base / "drafter", *words, "--json")
    assert (done.code, done.codes) == (1, ["verify-target-other"])


def test_weights_of_another_validation_are_refused(hub: Hub, base: Path, folder: Path) -> None:
    config = folder / "config.json"
    config.write_text(config.read_text() + "\n")
    seal(folder)
    done = run(hub, base, "verify", folder, "--prompts", base / "prompts.jsonl", "--json")
    assert (done.code, done.codes) == (1, ["verify-drafter-other"])


def test_a_flipped_byte_of_a_pulled_folder_is_refused_first(hub: Hub, base: Path, folder: Path) -> None:
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    done = run(hub, base, "verify", folder, "--json")
    assert (done.code, done.codes) == (1, ["pull-bytes-wrong"])


def test_figures_beside_a_baseline_need_that_very_baseline(hub: Hub, base: Path, folder: Path) -> None:
    (folder / "report.json").unlink()
    words = ("--target", TARGET, "--prompts", base / "prompts.jsonl", "--limit", "4", "--baseline", base / "source")
    report = folder.parent / "report.json"
    assert run(hub, base, "validate", folder, *words, "--aux-convention", "boundary", "-o", report).code == 0
    report.rename(folder / "report.json")
    seal(folder)
    verify = ("verify", folder, "--prompts", base / "prompts.jsonl", "--json")
    done = run(hub, base, *verify)
    about = {name: verdict for name, verdict in verdicts(done).items() if "baseline" in name}
    assert (done.code, done.codes) == (0, ["verify-not-repeated"])
    assert set(about.values()) == {"not repeated here"}
    done = run(hub, base, *verify, "--baseline", base / "source")
    assert (done.code, set(verdicts(done).values())) == (0, {"holds"})
    assert run(hub, base, *verify, "--baseline", base / "drafter").codes[0] == "verify-baseline-other"


def test_a_report_of_a_capture_is_repeated_with_that_capture(hub: Hub, base: Path, folder: Path) -> None:
    states = folder.parent / "states.safetensors"
    words = ("capture", base / "target", "--prompts", base / "prompts.jsonl", "--aux-layers", "2,3,4", "-o", states)
    assert run(hub, base, *words).code == 0
    (folder / "report.json").unlink()
    report = folder.parent / "report.json"
    done = run(hub, base, "validate", folder, "--target", TARGET, "--capture", states, "-o", report)
    assert done.code == 0, done.err
    report.rename(folder / "report.json")
    seal(folder)
    done = run(hub, base, "verify", folder, "--capture", states, "--json")
    assert (done.code, set(verdicts(done).values())) == (0, {"holds"})
