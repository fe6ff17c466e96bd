"""Fuzz one reader, guided by coverage: `python -m tests.fuzzing.run READER [SECONDS]` (pip install atheris).

Prints what libFuzzer counts. An input that raises anything but a `Refusal` is kept in tests/fuzzing/crashes.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["eaglekit"]):
    from eaglekit.report import Refusal
    from tests.fuzzing.readers import READERS

CRASHES = Path(__file__).parent / "crashes"


def main() -> None:
    """Run until the seconds are over or something breaks."""
    name, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "60"
    reader = READERS[name]

    def once(data: bytes) -> None:
        with contextlib.suppress(Refusal):
            reader.run(data)

    kept = CRASHES / name.replace(" ", "-")
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(reader.seeds()):
            (Path(corpus) / str(number)).write_bytes(seed)
        options = [
            f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=3000", f"-artifact_prefix={kept}{os.sep}",
            "-print_final_stats=1", "-use_value_profile=1",
        ]  # fmt: skip
        atheris.Setup([sys.argv[0], *options, corpus], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
