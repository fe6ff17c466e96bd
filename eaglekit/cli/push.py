"""`eaglekit push`: a validated drafter to the Hub, or to a rehearsal of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eaglekit.cli.output import guarded, json_option, print_report, say, work_bar
from eaglekit.cli.push_options import (
    SIGSTORE,
    PushCommand,
    content_options,
    place_options,
    refuse_swapped,
    run_options,
    wishes_of,
)
from eaglekit.cli.push_words import afterwards, ending
from eaglekit.cli.report_files import refuse_taken, write_new
from eaglekit.report import Fact, Finding, Refusal, Report

if TYPE_CHECKING:
    from eaglekit.hub.local.signing import Signer
    from eaglekit.hub.model import Wishes
    from eaglekit.hub.publishing.assembling import Asked
    from eaglekit.hub.publishing.pushing import Prepared
    from eaglekit.hub.rehearsal import Rehearsal
    from eaglekit.hub.remote.client import HubClient

PASSWORD = "EAGLEKIT_SIGNING_PASSWORD"  # noqa: S105 - the name of a variable


@click.command("push", cls=PushCommand)
@click.argument("path")
@click.argument("repository", metavar="ORG/NAME")
@content_options
@place_options
@run_options
@json_option
@guarded("push", "repository")
def command(path: str, repository: str, *, as_json: bool, output: Path | None, **wishes: Any) -> None:
    """Publish a validated drafter on the Hub.

    PATH is a converted folder with a passing report of exactly its files. Everything is checked and told before a byte
    is sent; then one commit is made, locked to what the plan stands on, and every file of it is compared with its
    digest. Nothing remote is deleted, and nothing is replaced without --overwrite. The token is the one that
    `hf auth login` saved, or HF_TOKEN. More: docs/publish.md.

    \b
    Examples:
      eaglekit push ./drafter me/drafter --license apache-2.0 --rehearse
      eaglekit push ./drafter me/drafter --license llama3.1 --base-model ORG/TARGET@COMMIT --dry-run
      eaglekit push ./drafter me/drafter --tag v1.0 --public
      eaglekit push ./drafter me/drafter --sign ~/keys/release.pem
      eaglekit push ./drafter somebody/drafter --create-pr --overwrite
    """
    refuse_swapped(path, repository)
    place = wishes_of(repository, wishes)
    rehearse, asking = wishes["rehearse"], not wishes["dry_run"]
    if asking and rehearse is None and not wishes["yes"] and (as_json or not sys.stdin.isatty()):
        raise click.UsageError("Nobody can be asked whether to publish: say --yes, or --dry-run to see the plan.")
    refuse_taken([output])
    with _hub(rehearse, place) as rehearsal:
        prepared = _prepare(path, place, rehearsal, quiet=as_json, **wishes)
        report = prepared.report
        if asking:
            if not as_json:
                _show(report, prepared, card=wishes["show_card"])
            if rehearsal is None and not wishes["yes"] and prepared.planned.writes and not _agreed(prepared):
                say("nothing was published")
                raise SystemExit(1)
            report = _publish(prepared, rehearsal, quiet=as_json)
    sound = report.ok
    if output is not None:
        report = _written(report, output)
    try:
        if as_json:
            print_report(report, as_json=True)
        elif not asking:
            _show(report, prepared, card=wishes["show_card"])
            say("\nnothing was sent: a dry run")
        else:
            _tell(report, told=prepared.report.findings, sound=sound, sign=wishes["sign"])
    except OSError:
        if report.result["outcome"] == "published":
            say(f"commit {report.result['commit']} IS published; what follows is about telling it")
        raise
    if not report.ok:
        raise SystemExit(1)


def _written(report: Report, output: Path) -> Report:
    """The report, which is now in a file too, or says why not: what was published stays told."""
    from eaglekit.report.json_text import dumps

    try:
        write_new(output, dumps(report.as_json()))
    except Refusal as refusal:
        return replace(report, findings=(*report.findings, *refusal.findings))
    return report


@contextmanager
def _hub(rehearse: str | None, place: Wishes) -> Iterator[Rehearsal | None]:
    """The Hub of a rehearsal, or None for the real one."""
    if rehearse is None:
        yield None
        return
    from eaglekit.hub.rehearsal import rehearsing

    name = place.repo.rpartition("/")[2]
    with rehearsing(Path(rehearse or f"rehearsal-{name}"), place.repo, place.collection) as rehearsal:
        say(f"rehearsal: a Hub on this machine, at {rehearsal.hub.endpoint}; nothing leaves it")
        yield rehearsal


def _prepare(path: str, place: Wishes, rehearsal: Rehearsal | None, *, quiet: bool, **wishes: Any) -> Prepared:
    from eaglekit.hub.publishing.pushing import prepare
    from eaglekit.hub.remote.client import HubClient

    def connect() -> HubClient:
        if rehearsal is not None:
            return rehearsal.connect(place.repo, say)
        return HubClient(place.repo, say=say)

    folder = Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    asked = _asked(place.repo, quiet=quiet, **wishes)
    return prepare(folder, wishes["report_file"], asked, place, connect, bar=work_bar(quiet=quiet))


def _asked(repo: str, *, quiet: bool, **wishes: Any) -> Asked:
    from eaglekit.hub.card import CardWishes
    from eaglekit.hub.publishing.assembling import Asked

    words = {name: wishes[name] for name in ("licence", "licence_name", "licence_link", "base_model")}
    somebody = sys.stdin.isatty() and not (quiet or wishes["yes"])
    return Asked(
        card=CardWishes(repo=repo, **words),
        prompts=wishes["prompts"],
        with_figure=not wishes["no_figure"],
        ask_licence=_ask_licence if somebody else None,
        sign=_signer(wishes["sign"], somebody=somebody),
    )


def _signer(key: str | None, *, somebody: bool) -> Signer | None:
    """Who signs. The password of a key is never on the command line, where every process could read it."""
    from eaglekit.hub.local.signing import Signer, is_encrypted

    if key is None:
        return None
    password = os.environ.get(PASSWORD)
    if password is None and key != SIGSTORE and somebody and is_encrypted(key):
        password = click.prompt(f"Password of {key}", hide_input=True, err=True)
    return Signer(key, password)


def _ask_licence() -> str:
    answer: str = click.prompt("Under which licence? An id of the Hub, for example apache-2.0", err=True)
    return answer.strip()


def _agreed(prepared: Prepared) -> bool:
    from eaglekit.hub.publishing.telling import visibility

    where = f"{prepared.planned.wishes.repo} on {prepared.client.asked.host} ({visibility(prepared.planned)})"
    return click.confirm(f"\nPublish to {where}?", err=True)


def _publish(prepared: Prepared, rehearsal: Rehearsal | None, *, quiet: bool) -> Report:
    """The push, told what was and was not done when it is interrupted."""
    from eaglekit.hub.publishing.pushing import publish

    try:
        report = publish(prepared, bar=work_bar(quiet=quiet))
    except KeyboardInterrupt:
        for line in _interrupted(prepared):
            say(line)
        raise click.Abort from None
    if rehearsal is None:
        return report
    card = rehearsal.leave(prepared.planned.wishes.repo, report.result["commit"])
    again = f"python -m eaglekit.hub.loopback {rehearsal.folder}"
    left = {"folder": str(rehearsal.folder), "card": str(card), "serve": again}
    facts = (
        Fact("rehearsal", str(rehearsal.folder), "given: --rehearse; nothing was published"),
        Fact("card", str(card), "derived: the files of the commit, laid out"),
    )
    kept = [fact for fact in report.facts if fact.name not in ("url", "pull request")]
    result = {**report.result, "outcome": "rehearsed", "rehearsal": left, "next": [again]}
    return replace(report, facts=(*facts, *kept), result=result)


def _interrupted(prepared: Prepared) -> list[str]:
    """What has been done so far, in sentences."""
    journal, repo = prepared.journal, prepared.planned.wishes.repo
    lines = [f"\nstopped while {journal.stage}"]
    if journal.created:
        lines.append(f"the repository {repo} has been made")
    if journal.commit is not None:
        return [*lines, f"commit {journal.commit} IS published; run the same command again to have it checked"]
    if journal.sent:
        lines.append(f"the Hub has the contents of {', '.join(journal.sent)}; they are not sent again")
    if journal.uncertain:
        return [*lines, "the commit had been asked for: run the same command again, it finds out whether it is there"]
    return [*lines, "nothing was published; run the same command again, it sends only what is missing"]


PLAN = ("repository", "hub", "account", "visibility", "branch", "tag", "collection", "base model", "licence", "prompts",
        "signature", "to send")  # fmt: skip
DONE = ("commit", "url", "pull request", "tag", "collection", "visibility", "signature", "manifest", "rehearsal",
        "card")  # fmt: skip


def _show(report: Report, prepared: Prepared, *, card: bool) -> None:
    """The plan on stdout, with the card when it is asked for."""
    from eaglekit.hub.publishing.telling import headline

    print_report(report, as_json=False, headline=headline(prepared.planned), facts=PLAN)
    if card:
        click.echo(f"\n{prepared.planned.card}")


def _tell(report: Report, *, told: Sequence[Finding], sound: bool, sign: str | None) -> None:
    """What has come of it; what was told with the plan is not told again. `sound` tells that the commit is right."""
    headline = ending(report.result, sound=sound)
    new = tuple(finding for finding in report.findings if finding not in told)
    print_report(replace(report, findings=new), as_json=False, headline=headline, facts=DONE, tables=())
    for line in afterwards(report.result, sign):
        say(line)
