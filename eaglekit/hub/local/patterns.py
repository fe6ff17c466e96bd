"""What secrets look like in text. A table, and two questions asked of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SHOWN = 4
"""Characters of a secret that are ever shown: enough to tell which one it is."""
FEWEST_DISTINCT = 8
"""A value of fewer different characters is a placeholder such as hf_xxxxxxxx."""


@dataclass(frozen=True, slots=True)
class Secret:
    """One kind of secret."""

    kind: str
    anchors: tuple[str, ...]
    """A text without any of these holds none; finding them is fast, however long the text."""
    expression: re.Pattern[str]
    """Group `value`, when it has one, is the secret itself."""
    sure: bool = True
    """No word of a language or a vocabulary looks like it."""
    mixed: bool = False
    """Only a value of letters and digits counts: words with hyphens would match too."""


def _secret(kind: str, anchors: str, expression: str, *, sure: bool = True, mixed: bool = False) -> Secret:
    return Secret(kind, tuple(anchors.split("|")), re.compile(expression), sure, mixed)


SECRETS: tuple[Secret, ...] = (
    _secret("a Hugging Face token", "hf_|api_org_", r"(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    _secret("an API key", "sk-", r"(?<![A-Za-z0-9_])sk-[A-Za-z0-9_-]{20,}", mixed=True),
    _secret("a GitHub token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    _secret("a GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    _secret("a GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    _secret("an AWS key", "AKIA|ASIA", r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _secret("a Slack token", "xox", r"xox[a-z]-[A-Za-z0-9-]{10,}", mixed=True),
    _secret("a Google key", "AIza", r"AIza[0-9A-Za-z_-]{35}"),
    _secret("a private key", "PRIVATE KEY", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    _secret("a signed token", "eyJ", r"(?<![A-Za-z0-9_])eyJ[\w-]{8,300}\.eyJ[\w-]{8,4096}\.[\w-]{8,}"),
    _secret(
        "an address with a password", "://", r"://[^\s/:@\"'<>{}$]*:(?P<value>[^\s/@\"'<>{}$]{3,})@[\w.-]", sure=False
    ),
    _secret("an address with a token", "://", r"://(?P<value>[\w-]{20,})@[\w.-]", sure=False, mixed=True),
    _secret(
        "a signed address", "ignature=|sig=", r"(?:[Ss]ignature|sig)=(?P<value>[A-Za-z0-9%+/_-]{32,}=*)", sure=False
    ),
    _secret("an access token", "earer ", r"[Bb]earer +(?P<value>[\w.~+/-]{16,}=*)", sure=False, mixed=True),
    _secret(
        "a password or key", "=|:",
        r"(?:(?i:api[_-]?key|secret(?:[_-]?key)?|passw(?:or)?d|access[_-]?key|"
        r"(?:hf|hub|wandb|git(?:hub|lab)|auth|access|api|refresh|session)[_-]?token)|(?<![A-Za-z_])(?:token|TOKEN))"
        r"[\"']?\s*[=:]\s*[\"']?(?P<value>[A-Za-z0-9+/_-]{20,})(?![\w.])",
        sure=False, mixed=True,
    ),
)  # fmt: skip


def secrets_in(text: str, *, sure: bool = False) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret in `text`; only of the unmistakable kinds with `sure`."""
    for secret in SECRETS:
        if (sure and not secret.sure) or not any(anchor in text for anchor in secret.anchors):
            continue
        group = "value" if "value" in secret.expression.groupindex else 0
        for found in secret.expression.finditer(text):
            if _is_real(found[group], secret):
                yield secret.kind, *found.span(group)


def mask(secret: str) -> str:
    """What may be shown of a secret: how it begins, and its length."""
    return f"{secret[:SHOWN]}... ({len(secret)} characters)"


def masked(text: str) -> str:
    """`text` with every secret in it shown by its beginning and length only."""
    spans = sorted((start, end) for _, start, end in secrets_in(text))
    pieces, at = [], 0
    for start, end in spans:
        if start >= at:
            pieces += [text[at:start], mask(text[start:end])]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _is_real(value: str, secret: Secret) -> bool:
    if secret.kind == "a private key":
        return True
    if secret.mixed and not (re.search(r"\d", value) and re.search(r"[A-Za-z]", value)):
        return False
    return secret.kind == "an address with a password" or len(set(value)) >= FEWEST_DISTINCT
