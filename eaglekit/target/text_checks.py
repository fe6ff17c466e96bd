"""What makes texts and boundaries impossible for a target."""

from collections.abc import Sequence

from eaglekit.drafter.aux_layers import check
from eaglekit.report import Finding, Refusal
from eaglekit.target.model import TargetModel
from eaglekit.target.texts import Text


def refuse_impossible(model: TargetModel, texts: Sequence[Text], boundaries: Sequence[int], *, room: int = 0) -> None:
    """Raise `Refusal` for ids, lengths (with `room` more tokens) and boundaries that the target does not have."""
    findings = check(boundaries, target_layers=model.num_layers, num_aux_states=None)
    findings += text_findings(texts, model.vocab_size)
    longest = model.config.get("max_position_embeddings")
    if isinstance(longest, int):
        findings += [_too_long(text, longest, room) for text in texts if len(text.tokens) + room > longest]
    if findings:
        raise Refusal(*findings)


def _too_long(text: Text, longest: int, room: int) -> Finding:
    new = f" and {room} new ones" if room else ""
    return Finding(
        "text-too-long",
        f"text {text.identity!r} has {len(text.tokens)} tokens{new}, and the target takes {longest}",
        place=text.identity,
        got=str(len(text.tokens) + room),
        expected=f"at most {longest}",
        hint="shorten it: no engine serves a text beyond max_position_embeddings",
    )


def text_findings(texts: Sequence[Text], vocab_size: int) -> list[Finding]:
    """What is wrong with texts of a vocabulary of `vocab_size`."""
    findings = []
    if not texts:
        findings.append(Finding("texts-none", "there is no text to run", expected="at least one text"))
    seen: set[str] = set()
    for text in texts:
        outside = [token for token in text.tokens if not 0 <= token < vocab_size]
        if outside:
            findings.append(
                Finding(
                    "text-token-outside",
                    f"text {text.identity!r} has token {outside[0]}, and the target has {vocab_size}",
                    place=text.identity,
                    got=", ".join(map(str, outside[:5])),
                    expected=f"0 to {vocab_size - 1}",
                    hint="the text was tokenised for another model: give it as text, or tokenise it again",
                )
            )
        if not 1 <= text.prompt_length <= len(text.tokens):
            findings.append(
                Finding(
                    "text-prompt-length",
                    f"text {text.identity!r} has {len(text.tokens)} tokens and a prompt of {text.prompt_length}",
                    place=text.identity,
                    got=str(text.prompt_length),
                    expected=f"1 to {len(text.tokens)}",
                    hint="a text starts with a prompt of at least one token",
                )
            )
        if text.identity in seen:
            findings.append(
                Finding(
                    "text-identity-twice",
                    f"two texts are called {text.identity!r}",
                    place=text.identity,
                    expected="a name of its own for each text",
                    hint="rename one: reports tell texts apart by it",
                )
            )
        seen.add(text.identity)
    return findings
