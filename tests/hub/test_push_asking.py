"""A push at a terminal: the plan is shown, somebody is asked, and only then anything is sent."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.running import PROGRAM
from tests.hub.pushes import REPO, WORDS, Pushes

BASE_MODEL = WORDS[2:]


def at_a_terminal(pushes: Pushes, answers: str, *options: str) -> tuple[int, str, str]:
    """Exit code and both streams of a push whose standard input is a terminal on which `answers` are typed."""
    typing, terminal = os.openpty()
    words = [*PROGRAM, "push", str(pushes.folder), REPO, "--no-figure", *options]
    try:
        with subprocess.Popen(
            words, env=pushes.environment, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            os.write(typing, answers.encode())
            out, err = process.communicate(timeout=60)
    finally:
        os.close(typing)
        os.close(terminal)
    assert "Traceback" not in err
    return process.returncode, out, err


def test_whoever_agrees_publishes(pushes: Pushes) -> None:
    code, out, err = at_a_terminal(pushes, "y\n", *WORDS)
    assert code == 0, err
    assert f"Publish to {REPO} on 127.0.0.1" in err
    assert "(private, a new repository)" in err
    assert "model.safetensors" in out
    assert pushes.count() == 2


@pytest.mark.parametrize("answer", ["n\n", "\n"], ids=["no", "nothing said"])
def test_whoever_does_not_agree_publishes_nothing(pushes: Pushes, answer: str) -> None:
    code, _, err = at_a_terminal(pushes, answer, *WORDS)
    assert code == 1
    assert "nothing was published" in err
    assert pushes.writes() == []


def test_a_licence_that_nobody_stated_is_asked_for(pushes: Pushes) -> None:
    code, out, err = at_a_terminal(pushes, "mit\ny\n", *BASE_MODEL)
    assert code == 0, err
    assert "Under which licence?" in err
    assert "mit" in out


def test_nobody_is_asked_when_there_is_nothing_to_do(pushes: Pushes) -> None:
    pushes.push()
    code, out, _ = at_a_terminal(pushes, "", *WORDS)
    assert code == 0
    assert "everything was there already" in out
