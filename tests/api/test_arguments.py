"""Arguments and options are the same wishes: each has its counterpart, and takes the same values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args

import click
import pytest

import eaglekit
from eaglekit.api.arguments import CHOICES, RANGES
from eaglekit.api.judging import WISHES
from eaglekit.cli.main import cli

WORDS_ONLY = {"as_json", "all_engines", "show_tensors", "report_file", "html_file", "output", "show_card", "yes"}
"""Options about a terminal or a file: the caller has the report."""
ELSEWHERE: dict[str, dict[str, str]] = {
    "inspect": {"requests": "engines"},
    "convert": {
        "requests": "engines", "dry_run": "plan()", "plan_file": "save()", "no_manifest": "manifest",
        "no_fsync": "fsync",
    },
    "apply": {
        "plan_file": "plan", "dry_run": "Plan.report", "no_manifest": "manifest", "no_fsync": "fsync",
    },
    "validate": {"gpu": "device"},
    "verify": {"gpu": "device"},
    "pull": {"repository": "repo"},
    "push": {
        "repository": "repo", "licence": "license", "licence_name": "license_name", "licence_link": "license_link",
        "no_figure": "figure", "dry_run": "publish", "report_file": "report",
    },
}  # fmt: skip
"""Command -> parameter -> what stands for it, where the name differs."""
MORE = {"progress", "publish", "password"}
"""Arguments that no option stands for."""
FUNCTIONS = ("inspect", "convert", "apply", "diff", "validate", "verify", "recipe", "pull", "push")


def options(name: str) -> dict[str, click.Parameter]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return {str(parameter.name): parameter for parameter in command.params}


def arguments(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(getattr(eaglekit, name)).parameters)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_option_has_its_argument_and_every_argument_its_option(name: str) -> None:
    renamed = ELSEWHERE.get(name, {})
    known = WORDS_ONLY - set(renamed)
    stands_for = {renamed.get(option, option) for option in options(name) if option not in known}
    found = set(arguments(name))
    assert {word for word in stands_for if word.isidentifier()} - found == set()
    assert found - stands_for - MORE == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_said_means_the_same_on_both_sides(name: str) -> None:
    ours, theirs = arguments(name), options(name)
    for word in ours.keys() & theirs.keys():
        default = theirs[word].default
        if word == "device" or theirs[word].required or callable(default):
            continue
        unset = default is None or not isinstance(default, (str, int, float, tuple, list))
        nothing = (None, (), False, inspect.Parameter.empty)
        assert (ours[word].default in nothing) if unset else (ours[word].default == default), word


@pytest.mark.parametrize(("name", "word"), [(name, word) for name in CHOICES for word in CHOICES[name]])
def test_the_words_of_a_choice_are_those_of_the_option(name: str, word: str) -> None:
    kind = options(name)[word].type
    assert isinstance(kind, click.Choice)
    assert tuple(kind.choices) == get_args(CHOICES[name][word])


@pytest.mark.parametrize(("name", "word"), [(name, word) for name in RANGES for word in RANGES[name]])
def test_the_ends_of_a_range_are_those_of_the_option(name: str, word: str) -> None:
    kind: Any = options(name)[word].type
    assert (kind.min, kind.max) == RANGES[name][word]


def test_every_range_and_choice_of_an_option_is_held() -> None:
    for name in FUNCTIONS:
        for word, option in options(name).items():
            if isinstance(option.type, click.Choice):
                assert word in CHOICES[name], (name, word)
            if isinstance(option.type, (click.IntRange, click.FloatRange)):
                assert word in RANGES[name], (name, word)


def test_a_validation_is_told_of_every_argument() -> None:
    assert set(WISHES) == set(arguments("validate")) - {"path", "progress"}


MISUSED: list[Any] = [
    pytest.param(lambda: eaglekit.plan("x", embedding="none"), "embedding cannot be 'none'", id="no such word"),  # type: ignore[arg-type]
    pytest.param(lambda: eaglekit.validate("x", draft_tokens=0), "draft_tokens cannot be 0", id="too small"),
    pytest.param(lambda: eaglekit.validate("x", draft_tokens=True), "draft_tokens cannot be True", id="no number"),
    pytest.param(
        lambda: eaglekit.validate("x", temperature=float("nan")), "temperature cannot be nan", id="not finite"
    ),
    pytest.param(lambda: eaglekit.validate("x", prompts="p"), "prompts needs target: the texts", id="no target"),
    pytest.param(
        lambda: eaglekit.plan("x", allow_degraded=True), "allow_degraded is about engines named with engines",
        id="for no engine",
    ),
    pytest.param(lambda: eaglekit.recipe("x", engines="vlm"), "engines cannot be 'vlm'", id="no such server"),  # type: ignore[arg-type]
    pytest.param(
        lambda: eaglekit.push("x", "a/b", publish=True, rehearse="r"), "publish publishes and rehearse does not",
        id="publish a rehearsal",
    ),
    pytest.param(
        lambda: eaglekit.push("x", "a/b", create_pr=True, tag="v1"), "tag names what is published", id="tag a proposal"
    ),
    pytest.param(
        lambda: eaglekit.validate("x", engine_python="p"), "engine_python needs engine vllm", id="an engine's Python"
    ),
    pytest.param(lambda: eaglekit.pull("a/b", "x", expect="no"), "expect takes sha256", id="no digest"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), MISUSED)
def test_what_cannot_be_meant_is_a_value_error_in_the_words_of_python(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("file", ["report.txt", "report"])
def test_a_report_is_saved_as_json_or_as_a_page(file: str, tmp_path: Any) -> None:
    with pytest.raises(ValueError, match=r"\.json or a \.html"):
        eaglekit.save(eaglekit.Report("inspect", "x"), tmp_path / file)


def test_a_file_that_is_there_is_kept(tmp_path: Any) -> None:
    (tmp_path / "report.json").write_text("mine")
    with pytest.raises(eaglekit.Refusal):
        eaglekit.save(eaglekit.Report("inspect", "x"), tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text() == "mine"
