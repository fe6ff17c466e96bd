"""From the options of `eaglekit bench` to two servers and a load; imported only when something is to be measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eaglekit.api.engines import parse_arguments
from eaglekit.api.extras import require_extras
from eaglekit.checkpoint import Checkpoint, LocalFolder, Source
from eaglekit.cli.loading import download, find_source, given_from, on_hub, open_input, open_local
from eaglekit.cli.output import work_bar
from eaglekit.cli.target_files import BESIDE, local_target
from eaglekit.dialects.target import Target, read_target
from eaglekit.report import Finding, Refusal, Report, Severity
from eaglekit.serving.benching import PLAIN, SPECULATING, Load, bench, refuse_unlike
from eaglekit.serving.benching_server import OURS, Command, running
from eaglekit.serving.endpoint import Server, meet
from eaglekit.serving.environment import Environment, find_engine
from eaglekit.target.prompts import load_tokenizer, read_prompts
from eaglekit.target.texts import Text
from eaglekit.validate import speed_report
from eaglekit.validate.binding import bind_drafter, moments, refuse_changed, texts_digest, tool
from eaglekit.validate.served_asking import folder, without_folders
from eaglekit.validate.speed_load import commands, load_of, parse_concurrency
from eaglekit.validate.speed_report import Subject

if TYPE_CHECKING:
    from eaglekit.target.prompts import Prompts

MEANING = ("aux_layers", "aux_convention", "settings", "target_family", "dialect", "drops")
PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size")


@dataclass(frozen=True)
class Opened:
    """A drafter and its target, looked at, and the commands that serve them."""

    checkpoint: Checkpoint
    commands: Mapping[str, Command]
    """By side, with the names that were typed."""
    findings: tuple[Finding, ...]
    arguments: Mapping[str, Any]


def planned(path: str | None, wishes: Mapping[str, Any]) -> Report:
    """What would be measured: headers are read, and nothing is started or downloaded but a tokenizer."""
    concurrencies = parse_concurrency(wishes["concurrency"])
    opened = _opened(path, wishes, weights=False, quiet=True) if path is not None else None
    prompts, findings = _prompts(wishes)
    told = {side: one.text for side, one in opened.commands.items()} if opened is not None else {}
    found = (*(opened.findings if opened is not None else ()), *findings)
    return speed_report.planned(Subject(path or "", told, {}, found), _load(prompts, concurrencies, wishes))


def measured(path: str | None, wishes: Mapping[str, Any], *, quiet: bool) -> Report:
    """Everything measured. Raises `Refusal` before a server is started where that can be."""
    concurrencies = parse_concurrency(wishes["concurrency"])
    if path is None:
        return _of_endpoints(wishes, concurrencies, quiet=quiet)
    environment = find_engine(wishes["engine_python"])
    prompts, findings = _prompts(wishes)
    opened = _opened(path, wishes, weights=True, quiet=quiet)
    load = _load(prompts, concurrencies, wishes)
    before = moments(opened.checkpoint)
    subject = _subject(path, opened, environment, prompts, findings, quiet=quiet)
    target, drafter = str(folder(local_target(wishes["target"], quiet=quiet))), str(folder(opened.checkpoint.source))
    started = {side: _at(one, target, drafter) for side, one in opened.commands.items()}

    @contextmanager
    def open_side(side: str) -> Iterator[Server]:
        with running(started[side], environment, TITLES[side]) as server:
            yield server

    with work_bar(quiet=quiet)(f"bench {path}", load.requests, "requests") as heard:
        benched = bench(load, open_side, heard)
    refuse_changed(opened.checkpoint, before)
    return speed_report.report(subject, load, benched)


TITLES = {SPECULATING: "the server with the drafter", PLAIN: "the server without it"}


def _of_endpoints(wishes: Mapping[str, Any], concurrencies: Sequence[int], *, quiet: bool) -> Report:
    servers = {SPECULATING: meet(wishes["endpoint"]), PLAIN: meet(wishes["baseline_endpoint"])}
    unlike = refuse_unlike(servers[SPECULATING], servers[PLAIN])
    prompts, findings = _prompts(wishes)
    load = _load(prompts, concurrencies, wishes)

    @contextmanager
    def open_side(side: str) -> Iterator[Server]:
        yield servers[side]

    with work_bar(quiet=quiet)("bench", load.requests, "requests") as heard:
        benched = bench(load, open_side, heard)
    engine = {"name": "vllm", "version": servers[SPECULATING].version, "endpoint": True}
    result = {"engine": engine, "texts": texts_digest(_asked(prompts, wishes)), "tool": tool()}
    return speed_report.report(Subject("", {}, result, (*findings, *unlike)), load, benched)


def _opened(path: str, wishes: Mapping[str, Any], *, weights: bool, quiet: bool) -> Opened:
    """The drafter and its target as `recipe` sees them. Raises `Refusal` with everything that is wrong with the two."""
    from eaglekit.dialects.reading import read
    from eaglekit.dialects.target_checks import embedding_is_copy, fit
    from eaglekit.engines.inspection import artefact_of

    target = read_target(find_source(wishes["target"]))
    given = given_from(target=target, **{name: wishes[name] for name in MEANING})
    checkpoint = open_local(path, quiet=quiet) if weights else open_input(path)
    outcome = read(checkpoint, given)
    spec = outcome.drafter_or_refuse().spec
    findings = tuple(dict.fromkeys([*checkpoint.findings, *outcome.findings, *fit(outcome, target)[1]]))
    base = Report("bench", path, findings=findings)
    if not base.ok:
        raise Refusal(report=base)
    arguments = {name: wishes[name] for name in PARALLEL if wishes[name] is not None}
    arguments |= parse_arguments(wishes["engine_arguments"], OURS)
    artefact = artefact_of(checkpoint, spec, given, target)
    made, misread = commands(
        artefact, drafter=_in_full(path), target=_in_full(wishes["target"]), draft_tokens=wishes["draft_tokens"],
        arguments=arguments, target_context=target.max_position_embeddings,
        embedding_is_copy=embedding_is_copy(findings),
    )  # fmt: skip
    told = [finding for finding in findings if finding.severity is not Severity.NOTE]
    return Opened(checkpoint, made, (*told, *misread), arguments)


def _at(command: Command, target: str, drafter: str) -> Command:
    """The command with the folders that the files lie in on this machine; revisions are theirs already."""
    told = command.speculative_config
    if told is not None:
        told = {name: value for name, value in told.items() if name != "revision"} | {"model": drafter}
    return replace(command, target=target, target_revision=None, speculative_config=told)


def _subject(
    path: str, opened: Opened, environment: Environment, prompts: Sequence[Text], findings: Sequence[Finding], *,
    quiet: bool,
) -> Subject:  # fmt: skip
    told = {side: replace(one, arguments=without_folders(one.arguments)).text for side, one in opened.commands.items()}
    engine = {
        "name": "vllm", "version": environment.version, **environment.packages,
        "arguments": without_folders(opened.arguments),
    }  # fmt: skip
    result = {
        "drafter": bind_drafter(opened.checkpoint, work_bar(quiet=quiet)),
        "engine": engine,
        "texts": texts_digest(prompts),
        "tool": tool(),
    }
    return Subject(path, told, result, (*opened.findings, *findings))


def _load(prompts: Sequence[Text], concurrencies: Sequence[int], wishes: Mapping[str, Any]) -> Load:
    return load_of(
        prompts, concurrencies, repeats=wishes["repeats"], output_tokens=wishes["output_tokens"],
        ignore_end=wishes["ignore_eos"],
    )  # fmt: skip


def _prompts(wishes: Mapping[str, Any]) -> tuple[list[Text], tuple[Finding, ...]]:
    """The prompts that are asked; a tokenizer is loaded only for prompts that are text."""
    target = read_target(find_source(wishes["target"])) if wishes["target"] is not None else None
    size = target.vocab_size if target is not None else None
    read: Prompts
    try:
        read = read_prompts(wishes["prompts"], vocab_size=size)
    except Refusal as refusal:
        tokenless = any(finding.code == "prompts-tokenizer-missing" for finding in refusal.findings)
        if target is None or not tokenless:
            raise
        require_extras("--prompts with text")
        read = read_prompts(wishes["prompts"], tokenizer=load_tokenizer(_tokenizer(target)), vocab_size=size)
    return _asked(read.texts, wishes), read.findings


def _asked(texts: Sequence[Text], wishes: Mapping[str, Any]) -> list[Text]:
    """The first prompts of each category, without their responses."""
    taken: dict[str, int] = {}
    kept = []
    for text in texts:
        taken[text.category] = taken.get(text.category, 0) + 1
        if wishes["limit"] is None or taken[text.category] <= wishes["limit"]:
            kept.append(replace(text, tokens=text.tokens[: text.prompt_length]))
    return kept


def _tokenizer(target: Target) -> Path:
    """The folder with the target's tokenizer; of a Hub id only the small files beside the weights are downloaded."""
    source: Source = target.library.source
    hub = on_hub(source)
    if hub is not None:
        source = download(hub, [name for name in hub.files() if name.endswith(BESIDE) and "/" not in name], quiet=True)
    return source.root if isinstance(source, LocalFolder) else folder(source)


def _in_full(name: str) -> str:
    """The name with the user's folder for a leading ~, which no shell expands inside quotes."""
    return os.path.expanduser(name) if name.startswith("~") else name  # noqa: PTH111 - Path raises for unknown users
