from __future__ import annotations

from pathlib import Path

import pytest

from eaglekit.checkpoint.hub_id import HubId, is_hub_id, is_local, parse_hub_id
from eaglekit.report import Refusal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("org/name", HubId("org/name"), id="plain"),
        pytest.param("org/name@v1.0", HubId("org/name", "v1.0"), id="tag"),
        pytest.param("org/name@refs/pr/3", HubId("org/name", "refs/pr/3"), id="pull request"),
        pytest.param("Org-1/Kimi_K2.6-eagle3.1", HubId("Org-1/Kimi_K2.6-eagle3.1"), id="signs inside"),
        pytest.param("org/name@" + "a" * 40, HubId("org/name", "a" * 40), id="commit"),
    ],
)
def test_an_id_is_read_as_repository_and_revision(text: str, expected: HubId) -> None:
    assert parse_hub_id(text) == expected
    assert is_hub_id(text)
    assert str(expected) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("name", id="no organisation"),
        pytest.param("org/", id="no name"),
        pytest.param("org/na me", id="space"),
        pytest.param("org/-name", id="sign in front"),
        pytest.param("org/name.", id="dot at the end"),
        pytest.param("org/na--me", id="two dashes"),
        pytest.param("org/na..me", id="two dots"),
        pytest.param("org/name.git", id="git suffix"),
        pytest.param("org/" + "n" * 97, id="too long"),
        pytest.param("org/müller", id="not ascii"),
        pytest.param("datasets/org/name", id="three parts"),
        pytest.param("org/name@", id="empty revision"),
        pytest.param("org/name@a b", id="revision with a space"),
        pytest.param("org/name@a..b", id="revision range"),
        pytest.param("org/name@-x", id="revision like an option"),
        pytest.param("org/name@main\n", id="revision with a line break"),
    ],
)
def test_a_name_the_hub_cannot_have_is_refused(text: str) -> None:
    assert not is_hub_id(text)
    with pytest.raises(Refusal) as caught:
        parse_hub_id(text)
    assert [finding.code for finding in caught.value.findings] == ["hub-id-invalid"]


@pytest.mark.parametrize(
    ("address", "id"),
    [
        pytest.param("https://huggingface.co/org/name", "org/name", id="page"),
        pytest.param("https://huggingface.co/org/name/tree/v2", "org/name@v2", id="branch page"),
        pytest.param("hf://org/name@v2", "org/name@v2", id="uri"),
    ],
)
def test_a_web_address_is_refused_with_the_id_it_holds(address: str, id: str) -> None:
    assert not is_local(address)
    with pytest.raises(Refusal) as caught:
        parse_hub_id(address)
    assert caught.value.findings[0].hint.endswith(f" {id}")


@pytest.mark.parametrize(
    "text", ["./org/name", "../name", "/org/name", "~/name", "org\\name", "C:\\x/y", "name", "org/name/", "a/b/c"]
)
def test_what_only_a_path_looks_like_never_goes_to_the_hub(text: str) -> None:
    assert is_local(text)
    assert not is_hub_id(text)


def test_a_folder_that_exists_wins_over_a_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_hub_id("org/name")
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert is_local("org/name")
    assert not is_hub_id("org/name")


def test_a_revision_means_the_hub_even_beside_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "name").mkdir(parents=True)
    assert is_hub_id("org/name@main")
