"""Attention heads: how many and how wide, from row counts and whatever the config states."""

from __future__ import annotations

from eaglekit.dialects.binding import Bound
from eaglekit.dialects.config_reading import Known
from eaglekit.drafter import Origin
from eaglekit.drafter.parts import Part, Role
from eaglekit.report import Finding


def resolve_heads(facts: dict[str, Known], bound: Bound) -> list[Finding]:
    """Adds num_heads, num_kv_heads and head_dim (and the MLA widths) to `facts`; findings where they do not agree."""
    if facts["attention"].value == "mla":
        return _latent(facts, bound)
    return _grouped(facts, bound)


def _rows(bound: Bound, part: Part) -> int | None:
    tensor = bound.tensors.get(Role(part, 0))
    return tensor.shape[0] if tensor is not None and len(tensor.shape) == 2 else None


def _value(facts: dict[str, Known], name: str) -> int | None:
    return facts[name].value if name in facts else None


def _grouped(facts: dict[str, Known], bound: Bound) -> list[Finding]:
    query, key = _rows(bound, Part.QUERY), _rows(bound, Part.KEY)
    if query is None or key is None:
        return []  # the missing projection is a finding of its own
    heads, kv_heads, width = (_value(facts, name) for name in ("num_heads", "num_kv_heads", "head_dim"))
    if width and not heads and query % width == 0:
        heads = query // width
        facts["num_heads"] = Known(heads, Origin("derived", f"{query} query rows over head_dim {width}"))
    if not heads:
        return []
    if kv_heads is None and width:
        kv_heads = key // width
    if kv_heads is None:
        kv_heads = heads  # transformers LlamaConfig: no key means as many as query heads
    facts.setdefault("num_kv_heads", Known(kv_heads, Origin("rule", "LlamaConfig: no key means one per query head")))
    derived = query // heads if query % heads == 0 else None
    if width is None and derived is not None:
        facts["head_dim"] = Known(derived, Origin("derived", f"{query} query rows over {heads} heads"))
        width = derived
    if width is None:
        return [_disagree(f"{query} query rows are no multiple of {heads} heads", f"{query} rows", f"{heads} heads")]
    wide = key // kv_heads if kv_heads and key % kv_heads == 0 else None
    if heads * width != query:
        apart = f"; {query}/{heads} = {derived} a head" if derived else ""
        against = f" does not agree with {wide} from the key projection" if derived and wide and wide != derived else ""
        return [
            _disagree(
                f"{heads} heads x {width} = {heads * width}, but the query projection has {query} rows{apart}{against}",
                f"{heads} x {width} = {heads * width}",
                f"{query} rows",
            )
        ]
    if kv_heads * width != key:
        return [
            _disagree(
                f"head_dim {width} (from {heads} query heads) does not agree with "
                + (f"{wide}" if wide else f"{key} rows")
                + f" from the key projection ({key} rows, {kv_heads} heads)",
                f"{kv_heads} x {width} = {kv_heads * width}",
                f"{key} rows",
            )
        ]
    return []


def _latent(facts: dict[str, Known], bound: Bound) -> list[Finding]:
    """MLA: dr from kv_a, dn+dr from the query rows, dv from the output's width."""
    rank = _value(facts, "kv_lora_rank")
    down, up, output = (
        bound.tensors.get(Role(part, 0)) for part in (Part.LATENT_DOWN, Part.LATENT_UP, Part.LATENT_OUTPUT)
    )
    query = _rows(bound, Part.QUERY_UP) or _rows(bound, Part.LATENT_QUERY)
    heads = _value(facts, "num_heads")
    if rank is None or down is None or up is None or output is None or query is None or not heads:
        return []
    findings = []
    derived = {
        "qk_rope_head_dim": down.shape[0] - rank,
        "qk_nope_head_dim": query // heads - (down.shape[0] - rank),
        "v_head_dim": output.shape[-1] // heads,
    }
    for name, found in derived.items():
        stated = _value(facts, name)
        if stated is not None and stated != found:
            findings.append(_disagree(f"config says {name} {stated}, the tensors say {found}", str(stated), str(found)))
        facts[name] = Known(found, Origin("derived", "row counts of the latent projections"))
    if query % heads:
        findings.append(_disagree(f"{query} query rows are no multiple of {heads} heads", f"{query} rows", f"{heads}"))
    facts.setdefault("num_kv_heads", Known(heads, Origin("rule", "MLA has one key per query head")))
    wide = derived["qk_nope_head_dim"] + derived["qk_rope_head_dim"]
    facts["head_dim"] = Known(wide, Origin("derived", "qk_nope_head_dim + qk_rope_head_dim"))
    return findings


def _disagree(message: str, got: str, expected: str) -> Finding:
    return Finding(
        "heads-disagree",
        message,
        place="config.json num_attention_heads, num_key_value_heads, head_dim",
        got=got,
        expected=expected,
        hint="rows = heads x head_dim; the config is the target's, or from another run",
    )
