"""A manifest is read as it was written, and one that does not add up is refused where it is parsed."""

from __future__ import annotations

import pytest

from eaglekit.checkpoint.copying import Written
from eaglekit.plan.manifest import manifest_text, parse_manifest

FILES = {"config.json": Written(7, "a" * 64), "model.safetensors": Written(0, "b" * 64)}
SIZE, LINE = "# 7 bytes\n", f"{'a' * 64}  config.json\n"


def test_what_was_written_is_read() -> None:
    assert parse_manifest(manifest_text(FILES)) == FILES


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SIZE + LINE + SIZE + LINE, id="a file twice"),
        pytest.param(LINE, id="a file without its size"),
        pytest.param(SIZE + SIZE + LINE, id="two sizes for one file"),
        pytest.param(SIZE + LINE + SIZE, id="a size at the end"),
        pytest.param(SIZE + "sha256:abc  config.json\n", id="something else"),
    ],
)
def test_what_does_not_add_up_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"twice|no line of a manifest|no file follows"):
        parse_manifest(text)
