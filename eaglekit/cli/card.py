"""`eaglekit card`: the model card of a validated drafter."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.options import stacked
from eaglekit.cli.output import guarded, json_option, print_report, say, work_bar
from eaglekit.report import Finding, Refusal, Report

if TYPE_CHECKING:
    from eaglekit.hub.card import CardWishes
    from eaglekit.hub.local.evidence import Evidence
    from eaglekit.hub.local.folder import Folder
    from eaglekit.hub.model import LocalFile

FILE = click.Path(path_type=Path, dir_okay=False)
MOST_BYTES = 16 << 20
"""Largest card that is read before it is merged."""

word_options = stacked(
    click.option("--license", "licence", metavar="ID", help="Licence, by the Hub's id: apache-2.0, llama3.1, other."),
    click.option("--license-name", "licence_name", metavar="NAME", help="For --license other."),
    click.option("--license-link", "licence_link", metavar="URL", help="For --license other; or LICENSE for a file."),
    click.option("--base-model", metavar="ORG/NAME@COMMIT", help="The target, when the report was made with a folder."),
)
"""What only the publisher can say."""


@click.command("card")
@click.argument("path")
@click.option("--report", "report_file", type=FILE, help="Report of `eaglekit validate`; default: PATH/report.json.")
@word_options
@click.option("--repo", metavar="ORG/NAME", help="Where the drafter will be published; commands in the card name it.")
@click.option("--no-figure", is_flag=True, help="Leave drift.png out.")
@click.option("-o", "--output", type=FILE, help="Write the card there, and drift.png beside it.")
@json_option
@guarded("card", "path")
def command(
    path: str, *, report_file: Path | None, no_figure: bool, output: Path | None, as_json: bool, **words: Any
) -> None:
    """Write the model card of a validated drafter.

    PATH is a converted folder, and the report a passing one of exactly its files. The card says what the report says
    and nothing that was not measured; it is printed, or with -o written. A README.md that is there already is merged:
    its front matter is completed, and of its text only what stands between the lines `<!-- eaglekit: begin -->` and
    `<!-- eaglekit: end -->` is replaced. What it holds: docs/card.md.

    \b
    Examples:
      eaglekit card ./drafter --license apache-2.0 --repo me/drafter
      eaglekit card ./drafter --report report.json --base-model ORG/TARGET@COMMIT --license llama3.1 -o README.md
      eaglekit card ./drafter --license other --license-name my-license-1.0 --license-link LICENSE
    """
    from eaglekit.hub.card import CardWishes, card_matter, figure, write_card

    wishes = CardWishes(**words)
    _refuse_repo(wishes)
    stated = _text(output) if output is not None and os.path.lexists(output) else None
    folder, evidence = _opened(path, report_file, wishes, stated, quiet=as_json)
    base = folder.card_text if stated is None else stated
    picture = None if no_figure else figure(evidence.report)
    wishes = replace(wishes, has_figure=picture is not None)
    card = write_card(card_matter(folder, evidence, wishes, base), base)
    written = _write(output, card, picture, stated) if output is not None else []
    _tell(path, card, written, picture, as_json=as_json)
    if wishes.repo is None and not as_json:
        say("--repo was not given: the commands in the card say ORG/NAME")


def _opened(
    path: str, report_file: Path | None, wishes: CardWishes, base: str | None, *, quiet: bool
) -> tuple[Folder, Evidence]:
    """The folder and the report that belongs to it. Raises `Refusal` with everything that speaks against them, and
    against what the publisher says; `base` is the card that stands where the new one is written.
    """
    from eaglekit.hub.card import word_findings
    from eaglekit.hub.local.evidence import evidence
    from eaglekit.hub.local.folder import inspect_folder
    from eaglekit.hub.local.report_reading import report_bytes
    from eaglekit.hub.model import REPORT

    place = Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    folder, findings = inspect_folder(place, path, bar=work_bar(quiet=quiet))
    if folder is None:
        raise Refusal(*findings, *word_findings(wishes, base, [], None))
    data = report_bytes(report_file) if report_file is not None else folder.report_data
    found, against = evidence(data, folder, str(report_file or Path(path) / REPORT))
    if found is None:
        names = [file.name for file in folder.files]
        card = folder.card_text if base is None else base
        raise Refusal(*against, *word_findings(wishes, card, names, data))
    if findings and not quiet:
        say(f"{len(findings)} findings about the folder; what stands against publishing it: eaglekit push --dry-run")
    return folder, found


def _refuse_repo(wishes: CardWishes) -> None:
    from eaglekit.checkpoint.hub_id import is_repo, parse_hub_id

    if wishes.repo is not None and not is_repo(wishes.repo):
        parse_hub_id(wishes.repo)
        raise click.UsageError("--repo is ORG/NAME, without a revision.")


def _text(file: Path) -> str:
    """An existing card with its line ends as they are. Raises `Refusal` for what is no plain file or no text."""
    from eaglekit.checkpoint.disk_errors import writing_to

    with writing_to(str(file)):
        if not stat.S_ISREG(file.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "it is no regular file")
        with file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Refusal(
            Finding(
                "card-markers",
                f"{file.name} is kept as it is: it is too large for a card",
                place=str(file),
                got=f"more than {MOST_BYTES:,} bytes",
                expected="a card, which has some thousand",
                hint="write the card to another name",
            )
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(
            Finding(
                "card-markers",
                f"{file.name} is kept as it is: it is no UTF-8 text",
                place=str(file),
                got="other bytes",
                expected="a card in UTF-8",
                hint="write the card to another name",
            )
        ) from None


def _write(output: Path, card: str, picture: LocalFile | None, before: str | None) -> list[str]:
    """Card and figure as files, each whole or not at all; the figure first, so that no card shows a missing one.

    `before` is the card that stood there: only where eaglekit's own lines of it show the figure, that may be replaced.
    """
    from eaglekit.checkpoint.disk_errors import writing_to
    from eaglekit.hub.model import FIGURE

    written = []
    if picture is not None:
        drawing = output.with_name(FIGURE)
        ours = _shows(before, FIGURE)
        with writing_to(str(drawing)):
            if os.path.lexists(drawing) and not ours and not _same(drawing, picture.read()):
                raise FileExistsError(errno.EEXIST, "another picture has this name")
            _replace(drawing, picture.read())
        written.append(str(drawing))
    with writing_to(str(output)):
        _replace(output, card.encode())
    return [*written, str(output)]


def _shows(card: str | None, picture: str) -> bool:
    """Whether what eaglekit wrote into a card shows the picture; one that holds nothing of ours does not."""
    from eaglekit.hub.card.merging import written_in

    try:
        lines = written_in(card or "").lines
    except Refusal:
        return False
    return any(f"]({picture})" in line for line in lines)


def _same(file: Path, data: bytes) -> bool:
    """Whether a plain file holds exactly `data`."""
    status = file.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size == len(data) and file.read_bytes() == data


def _replace(file: Path, data: bytes) -> None:
    """Put `data` under a name that is free or a regular file's, in one step."""
    from eaglekit.checkpoint.staged_file import write_file

    mode = None
    if os.path.lexists(file):
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise FileExistsError(errno.EEXIST, "it is no regular file")
        if _same(file, data):
            return
        mode = stat.S_IMODE(status.st_mode)
    write_file(file, data, replacing=True, mode=mode)


def _tell(path: str, card: str, written: list[str], picture: LocalFile | None, *, as_json: bool) -> None:
    if as_json:
        drawn = {"name": picture.name, "sha256": picture.sha256, "size_bytes": picture.size_bytes} if picture else None
        print_report(Report("card", path, result={"card": card, "figure": drawn, "written": written}), as_json=True)
        return
    if not written:
        click.echo(card, nl=False)
    for name in written:
        say(f"written to {name}")
