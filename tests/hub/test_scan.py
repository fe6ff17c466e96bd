"""What must not leave this machine is found wherever it hides, and what only looks like it is left alone."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path

import pytest

from eaglekit.hub.local.scan import scan_texts, without_secrets
from eaglekit.hub.model import LocalFile
from eaglekit.report import Finding

ALPHABET = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0UvWxYz"
# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "Hugging Face": "hf_" + ALPHABET[:34],
    "OpenAI": "sk-proj-" + ALPHABET[:30],
    "Anthropic": "sk-ant-" + ALPHABET[:30],
    "GitHub": "ghp_" + ALPHABET,
    "GitHub, fine-grained": "github_pat_" + ALPHABET,
    "AWS": "AKIA" + "ABCDEFGH12345678",
    "GitLab": "glpat-" + ALPHABET[:20],
    "Slack": "xoxb-" + "123456789012-" + ALPHABET[:12],
    "Google": "AIza" + (ALPHABET + "-")[:35],
    "private key": "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
    "JWT": "eyJ" + ALPHABET[:12] + ".eyJ" + ALPHABET[:20] + "." + ALPHABET[:20],
    "bearer": "Authorization: Bearer " + ALPHABET[:24],
    "address with a password": "https://user:" + "pa55word@git.example.org/x.git",
    "address with a token": "https://" + ALPHABET[:24] + "@git.example.org/x.git",
    "environment": "WANDB_API_KEY=" + "0123456789abcdef" * 2,
}
HIDDEN = ("Gh4Ij5", "5word", "FGH1234", "456789abcdef0123", "234567890", "PRIVATE KEY--")
"""A part of each that must not be seen."""
PLACES = {
    "home": "/home/ann/models/target",
    "root": "/root/run/out",
    "macOS": "/Users/ann/target",
    "mount": "/mnt/nvme0/target",
    "data": "/data/run7/model",
    "temporary": "/tmp/tmpabc/out",  # noqa: S108
    "workspace": "/workspace/target",
    "Windows": "C:\\Users\\ann\\target",
    "Windows with slashes": "D:/models/target",
    "file address": "file:///srv/target",
    "share": "\\\\server\\share\\target",
}
INNOCENT = (
    "see https://example.org/home/user/data/x for more",
    "meta-llama/Llama-3.1-8B-Instruct",
    "docker run -v ~/.cache/huggingface:/root/.cache/huggingface",
    "mount it below /home/user/models or /home/<you>/models",
    "--model ORG/NAME --tokens $HF_TOKEN, hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "Authorization: Bearer $TOKEN",
    "risk-averse-speculation-of-drafters-2024-edition",
    "{{ 'Q:\\n' }}{{ 'Users:\\n\\n' }} and/or true/false",
    "pad_token: <|reserved_special_token_0123456789|>",
    "sha256:19cfd78013b5237df34b871d9ddd6b174d243ec0a4b47cc66167189e09388222",
    "GET /v1/models on http://localhost:8000",
)

each_secret = pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
each_place = pytest.mark.parametrize("place", PLACES.values(), ids=list(PLACES))


def scanned(name: str, content: str | bytes) -> list[Finding]:
    return scan_texts([LocalFile.made(name, content.encode() if isinstance(content, str) else content)])


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def weights(metadata: dict[str, str], tensor: str = "norm.weight") -> bytes:
    header = json.dumps(
        {"__metadata__": metadata, tensor: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    ).encode()
    return struct.pack("<Q", len(header)) + header + b"\0\0\0\0"


@each_secret
def test_a_secret_in_a_text_is_found_with_its_line(secret: str) -> None:
    findings = scanned("NOTICE", f"one\ntwo {secret}\n")
    assert codes(findings) == ["secret-found"]
    assert findings[0].place == "NOTICE: line 2"


@each_secret
def test_a_secret_in_a_config_is_found_however_it_is_escaped(secret: str) -> None:
    escaped = "".join(f"\\u{ord(character):04x}" for character in secret)
    findings = scanned("config.json", f'{{"a": {{"b": [0, "{escaped}"]}}}}')
    assert codes(findings) == ["secret-found"]
    assert findings[0].place == "config.json: a.b[1]"


@each_secret
def test_a_secret_is_never_shown(secret: str) -> None:
    told = "".join(map(repr, scanned("README.md", secret) + scanned("config.json", json.dumps({secret: secret}))))
    assert [part for part in HIDDEN if part in told] == []
    assert "characters)" in told


@each_place
def test_a_place_in_a_text_is_found(place: str) -> None:
    findings = scanned("README.md", f"trained\non {place} for a week")
    assert codes(findings) == ["local-path-found"]
    assert findings[0].got == place
    assert findings[0].place == "README.md: line 2"


@each_place
def test_a_place_in_a_config_is_found_and_a_hub_id_asked_for(place: str) -> None:
    findings = scanned("config.json", json.dumps({"speculators_config": {"verifier": {"name_or_path": place}}}))
    assert codes(findings) == ["local-path-found"]
    assert findings[0].place == "config.json: speculators_config.verifier.name_or_path"
    assert "--set target_name=ORG/NAME" in findings[0].hint


@pytest.mark.parametrize("place", ["/lab9/target", "./target", "../target", "~/target"])
def test_a_model_that_is_named_by_any_path_is_found(place: str) -> None:
    assert codes(scanned("config.json", json.dumps({"_name_or_path": place}))) == ["local-path-found"]


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_a_secret_or_a_place_is_left_alone(text: str) -> None:
    assert scanned("README.md", text) == []
    assert scanned("tokenizer_config.json", json.dumps({"chat_template": text})) == []


@each_secret
def test_a_secret_in_the_metadata_of_weights_is_found(secret: str) -> None:
    findings = scanned("model.safetensors", weights({"run": f"by {secret}"}))
    assert codes(findings) == ["secret-found"]
    assert findings[0].place == "model.safetensors: __metadata__.run"


def test_metadata_that_holds_json_is_decoded_once_more() -> None:
    inner = json.dumps({"args": {"output": "/home/ann/run"}})
    findings = scanned("model.safetensors", weights({"training": inner}))
    assert [finding.place for finding in findings] == ["model.safetensors: __metadata__.training.args.output"]


def test_a_tensor_named_by_a_place_is_found() -> None:
    assert codes(scanned("model.safetensors", weights({}, "/home/ann/norm.weight"))) == ["local-path-found"]


def test_the_data_of_weights_is_not_text() -> None:
    header = json.dumps({"a": {"dtype": "U8", "shape": [37], "data_offsets": [0, 37]}}).encode()
    data = struct.pack("<Q", len(header)) + header + SECRETS["Hugging Face"].encode()
    assert scanned("model.safetensors", data) == []


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json", "added_tokens.json", "merges.txt", "prompts.jsonl"])
def test_a_vocabulary_may_hold_places_and_never_a_token(name: str) -> None:
    assert scanned(name, json.dumps({"/home/ann/x": 1, "/data/run7": 2, "sk-": 3, "hf_": 4, "://a:b@c": 5})) == []
    assert codes(scanned(name, json.dumps({SECRETS["Hugging Face"]: 1}))) == ["secret-found"]


def test_a_value_under_a_telling_key_is_a_secret() -> None:
    findings = scanned("config.json", json.dumps({"wandb": {"api_key": "0123456789abcdef" * 2}}))
    assert [(f.code, f.place) for f in findings] == [("secret-found", "config.json: wandb.api_key")]


def test_of_a_key_that_stands_twice_both_values_are_looked_at() -> None:
    secret = SECRETS["Hugging Face"]
    assert codes(scanned("config.json", f'{{"a": "{secret}", "a": "fine"}}')) == ["secret-found"]


@pytest.mark.parametrize("broken", ["{", "[" * 100_000, '{"n": ' + "9" * 5000 + "}"], ids=["cut", "deep", "digits"])
def test_json_that_cannot_be_read_is_searched_as_text(broken: str) -> None:
    assert codes(scanned("config.json", f"{broken}\n{SECRETS['Hugging Face']}")) == ["secret-found"]


def test_one_path_a_thousand_times_is_told_twenty_times() -> None:
    findings = scanned("README.md", "/home/ann/x\n" * 1000)
    assert len(findings) == 20
    assert findings[-1].message.endswith("there are more in this file")


@pytest.mark.parametrize("data", [b"\x80\x04\x95pickle", b"text\0more"], ids=["pickle", "NUL"])
def test_a_licence_that_is_no_text_is_told(data: bytes) -> None:
    assert codes(scanned("LICENSE", data)) == ["publish-not-text"]


def test_a_file_that_has_gone_meanwhile_is_no_crash(tmp_path: Path) -> None:
    assert scan_texts([LocalFile("NOTICE", tmp_path / "NOTICE", 3, "0" * 64)]) == []


def test_a_finding_that_quotes_a_file_is_rid_of_secrets() -> None:
    secret = SECRETS["Hugging Face"]
    finding = without_secrets(Finding("manifest-missing", f"it says {secret} there", place=secret, got=secret))
    assert secret[5:] not in repr(finding)
    assert finding.message == "it says hf_A... (37 characters) there"


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "README.md", "LICENSE"])
def test_escapes_hide_no_secret(name: str) -> None:
    secret = SECRETS["Hugging Face"]
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    assert codes(scanned(name, f'{{"chat_template": "{escaped}"}}')) == ["secret-found"]


def test_escapes_of_escapes_hide_no_secret() -> None:
    inner = json.dumps({"note": "".join(f"\\u{ord(letter):04x}" for letter in SECRETS["GitHub"])})
    assert codes(scanned("tokenizer_config.json", json.dumps({"outer": inner}))) == ["secret-found"]


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\ufeff"], ids=["zero width", "soft hyphen", "byte order mark"])
def test_what_cannot_be_seen_hides_no_secret(unseen: str) -> None:
    secret = SECRETS["Hugging Face"]
    assert codes(scanned("LICENSE", f"{secret[:9]}{unseen}{secret[9:]}")) == ["secret-found"]


@pytest.mark.parametrize("line", ["/home/ann/x\n", SECRETS["Hugging Face"] + "\n"], ids=["paths", "secrets"])
def test_a_file_of_nothing_but_hits_takes_seconds_and_not_hours(line: str) -> None:
    start = time.process_time()
    found = scan_texts([LocalFile.made("LICENSE", line.encode() * (3_000_000 // len(line)))])
    assert len(found) <= 20
    assert time.process_time() - start < 20


def test_a_line_is_counted_from_the_top() -> None:
    found = scan_texts([LocalFile.made("LICENSE", f"x\n/home/ann/x\n\n{SECRETS['GitHub']}\n/home/ann/y\n".encode())])
    assert [finding.place for finding in found] == ["LICENSE: line 2", "LICENSE: line 4", "LICENSE: line 5"]


def test_a_name_that_holds_a_secret_is_found_once_however_often_it_stands_there() -> None:
    document = json.dumps([{SECRETS["GitHub"]: 1}, {SECRETS["GitHub"]: 2}])
    assert codes(scanned("tokenizer_config.json", document)) == ["secret-found"]
