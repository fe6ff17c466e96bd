"""Checks of widths, vocabularies, heads, embeddings, rope: whether what is built has the file's sizes."""

from __future__ import annotations

from eaglekit.drafter import Attention, Fusion, Part, Role
from eaglekit.engines.case import Case, Found
from eaglekit.engines.checks.names import absent
from eaglekit.engines.checks.runners import Runner, judged
from eaglekit.engines.model import Verdict
from eaglekit.engines.rules import Behaviour, Feature

WIDTH, VOCABULARY, HEAD = "engine-width-wrong", "engine-vocabulary-wrong", "engine-head-wrong"
ROPE, FINAL = "engine-rope-wrong", "engine-final-state"

PLAIN_STATES = 3
"""Captured states of EAGLE-3 as published: what every engine assumes when nothing says otherwise."""
PLAIN_THETA = 10000.0
"""The rope base of a Llama config that names none."""


def states(case: Case) -> Found:
    """An fc built for another number of captured states than the file's."""
    row = case.rule(Feature.WIDTH)
    if case.spec.fusion is Fusion.FINAL_STATE or row.behaviour is not Behaviour.HONOURED:
        return
    path, value = case.view.first([path for path in row.values if case.view.get(path)])
    built = len(value) if isinstance(value, list) else value if isinstance(value, int) else PLAIN_STATES
    if built != case.spec.num_aux_states:
        looked = f"it looks for {' or '.join(row.values)}" if row.values else "it knows no other number"
        because = f"{path} says so" if path else looked
        text = f"builds fc for {built} captured states ({because}), and the stored one reads {case.spec.num_aux_states}"
        yield case.effect(Verdict.REJECTS, WIDTH, text, row)


def target_width(case: Case) -> Found:
    """A target of another width than the drafter, where fc is built from the drafter's own."""
    ours, theirs = case.spec.hidden_size, case.spec.target_hidden_size
    row = case.rule(Feature.TARGET_WIDTH)
    if ours == theirs:
        return
    if row.behaviour in (Behaviour.ABSENT, Behaviour.REJECTED):
        text = f"builds fc from the drafter's own width {ours}; the target's states are {theirs} wide"
        yield case.effect(Verdict.REJECTS, WIDTH, text, row)
    elif row.behaviour is Behaviour.NOT_KNOWN:
        yield case.unknown(f"treats a drafter of width {ours} for a target of width {theirs}")
    elif row.values and case.view.first(row.values)[1] != theirs:
        text = f"builds fc for states of width {case.view.first(row.values)[1] or ours}; the target's are {theirs} wide"
        yield case.effect(Verdict.REJECTS, WIDTH, text, row)


def fc_by_width(case: Case) -> Found:
    """One captured state as wide as the drafter, for which fc is never applied."""
    row = case.rule(Feature.FC_BY_WIDTH)
    width = case.spec.num_aux_states * case.spec.target_hidden_size
    has_fc = case.spec.fusion is Fusion.AUX_STATES
    if has_fc and row.behaviour is Behaviour.HONOURED and width == case.spec.hidden_size:
        text = f"applies fc only to states of another width than {width}, so never to this one captured state"
        yield case.effect(Verdict.MISREADS, WIDTH, text, row)


def captured_or_final(case: Case) -> Found:
    """A drafter fed with captured states where it wants the final one, or the other way round."""
    final = case.spec.fusion is Fusion.FINAL_STATE
    yield from judged(case, _fed, right="serves it" if final else "captures states")


def _fed(case: Case, runner: Runner) -> Found:
    final = case.spec.fusion is Fusion.FINAL_STATE
    row = case.rule(runner.use_aux)
    said = case.view.first(row.values)[1]
    if row.behaviour is Behaviour.ASSUMED_TRUE and said is None:
        # Here the flag's absence beside an eagle_config means false; without an eagle_config it means true.
        said = case.view.get("eagle_config") is None
    if final and row.behaviour is Behaviour.NOT_KNOWN:
        yield case.unknown("serves a drafter that reads the target's final state")
    elif final and row.behaviour is Behaviour.REJECTED:
        text = "always captures states, and this drafter has no fc for them: it reads the final state"
        yield case.effect(Verdict.REJECTS, FINAL, text, row)
    elif said is False and row.behaviour is Behaviour.NOT_APPLIED:
        text = f"captures no states, because eagle_config says so, and {case.drafter.title} applies fc all the same"
        yield case.effect(Verdict.REJECTS, FINAL, text, row)
    elif final and (row.behaviour is Behaviour.ABSENT or said is not False):
        text = "captures states and builds an fc; this drafter reads the final state and stores none"
        yield case.effect(Verdict.MISREADS, FINAL, text, row)
    elif not final and said is False and row.behaviour is Behaviour.REJECTED:
        text = "captures states and builds no fc for them, because eagle_config says use_aux_hidden_state: false"
        yield case.effect(Verdict.REJECTS, FINAL, text, row)
    elif not final and said is False:
        text = "captures no states, because eagle_config does not say use_aux_hidden_state: true"
        yield case.effect(Verdict.MISREADS, FINAL, text, row)


def draft_vocabulary(case: Case) -> Found:
    """draft_vocab_size absent, a head of another size, a pruned head nobody can serve."""
    spec, said = case.spec, case.view.get("draft_vocab_size")
    absent_row, pruned = case.rule(Feature.DRAFT_VOCAB_ABSENT), case.rule(Feature.PRUNED_HEAD)
    null_is_fine = case.does(Feature.HEAD_ABSENT) is Behaviour.FILLED_IF_NULL and "draft_vocab_size" in case.view.config
    if spec.draft_vocab_size != spec.vocab_size and pruned.behaviour is Behaviour.REJECTED:
        text = f"has no draft vocabulary: its head has {spec.vocab_size} rows, the stored one {spec.draft_vocab_size}"
        yield case.effect(Verdict.REJECTS, VOCABULARY, text, pruned)
    elif said is None and absent_row.behaviour is Behaviour.REJECTED and not null_is_fine:
        yield case.effect(Verdict.REJECTS, VOCABULARY, "needs draft_vocab_size, and the config has none", absent_row)
    elif case.view.get("vocab_size") is not None:
        built = said or case.view.get("vocab_size")
        if case.stored.has(Part.HEAD) and built != spec.draft_vocab_size and pruned.behaviour is Behaviour.HONOURED:
            rows = spec.draft_vocab_size
            text = f"builds a head of {built} rows (draft_vocab_size {said}), and the stored one has {rows}"
            yield case.effect(Verdict.REJECTS, VOCABULARY, text, pruned)


def vocabulary(case: Case) -> Found:
    """A vocab_size that is not the target's."""
    row, said = case.rule(Feature.VOCAB_SIZE), case.view.get("vocab_size")
    wrong = isinstance(said, int) and said != case.spec.vocab_size
    full = case.spec.draft_vocab_size == case.spec.vocab_size
    fails = row.behaviour is Behaviour.REJECTED or (row.behaviour is Behaviour.REJECTED_AT_FULL_VOCABULARY and full)
    if wrong and fails:
        text = f"fails on vocab_size {said} for a target vocabulary of {case.spec.vocab_size}"
        yield case.effect(Verdict.REJECTS, VOCABULARY, text, row)
    elif wrong:
        yield case.unknown(f"treats vocab_size {said} for a target vocabulary of {case.spec.vocab_size}")


def vocabulary_map(case: Case) -> Found:
    """A map where none may be, or none where one must be."""
    spec, stored = case.spec, case.stored.has(Part.DRAFT_TO_TARGET)
    pruned = spec.draft_vocab_size != spec.vocab_size
    full, gone, mask = (case.rule(f) for f in (Feature.MAP_AT_FULL_VOCABULARY, Feature.MAP_ABSENT, Feature.MASK_ABSENT))
    built = case.view.get("draft_vocab_size") or case.view.get("vocab_size")
    if stored and built == spec.vocab_size and full.behaviour is Behaviour.REJECTED:
        text = f"refuses d2t when the draft vocabulary is the target's ({built} tokens)"
        yield case.effect(Verdict.REJECTS, "engine-map-wrong", text, full)
    # A pruned head of which nothing says the ids is no head of the first ids.
    other = not stored and pruned and spec.target_ids != tuple(range(spec.draft_vocab_size))
    if not stored and gone.behaviour is Behaviour.REJECTED:
        yield case.effect(Verdict.REJECTS, "engine-map-wrong", "refuses a file without d2t", gone)
    elif not stored and gone.behaviour is Behaviour.UNINITIALISED:
        text = "finds no d2t and sends drafts to whatever ids its memory holds, at full vocabulary too"
        yield case.effect(Verdict.MISREADS, "engine-map-wrong", text, gone)
    elif other and gone.behaviour is Behaviour.IDENTITY:
        text = "finds no d2t and takes draft id i for target id i"
        yield case.effect(Verdict.MISREADS, "engine-map-wrong", text, gone)
    elif other and gone.behaviour is Behaviour.NOT_KNOWN:
        yield case.unknown("treats a pruned head without d2t")
    if pruned and stored and Feature.MAP in case.rules.chosen and case.does(Feature.MAP) is Behaviour.NOT_KNOWN:
        yield case.unknown("understands d2t: as offsets or as target ids")
    if mask.behaviour is Behaviour.REJECTED and not case.stored.has(Part.TARGET_MASK):
        yield case.effect(Verdict.REJECTS, "engine-map-wrong", "refuses a file without t2d", mask)


def map_values(case: Case) -> Found:
    """A stored map that names other target ids, or ids past the vocabulary, to an engine that reads it as offsets."""
    spec, row, past = case.spec, case.rule(Feature.MAP), case.rule(Feature.MAP_PAST_VOCABULARY)
    seen = case.artefact.seen_ids or spec.target_ids
    if not seen or not case.stored.has(Part.DRAFT_TO_TARGET) or row.behaviour is not Behaviour.HONOURED:
        return
    highest = max(seen)
    if highest >= spec.vocab_size:
        number = seen.index(highest)
        text = f"reads d2t as offsets, which send draft id {number} to target id {highest} of {spec.vocab_size}"
        if past.behaviour is Behaviour.REJECTED:
            yield case.effect(Verdict.REJECTS, "engine-map-wrong", f"{text}, and fails at the first draft", past)
        else:
            yield case.effect(Verdict.MISREADS, "engine-map-wrong", text, row)
    elif case.artefact.seen_ids is not None and seen != spec.target_ids:
        text = "reads d2t as offsets; it holds target ids, so other tokens are drafted"
        yield case.effect(Verdict.MISREADS, "engine-map-wrong", text, row)


def head(case: Case) -> Found:
    """A head that the engine drops, or does not find and does not fill."""
    tied, gone = case.rule(Feature.TIED_HEAD), case.rule(Feature.HEAD_ABSENT)
    stored = case.stored.has(Part.HEAD)
    if stored and tied.behaviour is Behaviour.DROPPED and case.view.get("tie_word_embeddings") is True:
        text = "drops lm_head.weight silently and uses the embedding for it, because tie_word_embeddings is true"
        yield case.effect(Verdict.MISREADS, HEAD, text, tied)
    if stored or gone.behaviour is Behaviour.FILLED:
        return
    by_null = gone.behaviour is Behaviour.FILLED_IF_NULL
    if by_null and "draft_vocab_size" in case.view.config and case.view.get("draft_vocab_size") is None:
        return
    if by_null or gone.behaviour is Behaviour.UNINITIALISED:
        yield from absent(case, [Role(Part.HEAD)])
    else:
        yield case.unknown("treats a file without lm_head.weight")


def embedding(case: Case) -> Found:
    """An own embedding that the target's overwrites, or none where one is needed."""
    row, wide = case.rule(Feature.EMBEDDING), case.spec.hidden_size == case.spec.target_hidden_size
    replaced = row.behaviour is Behaviour.REPLACED or (row.behaviour is Behaviour.REPLACED_AT_SAME_WIDTH and wide)
    if case.stored.has(Part.EMBEDDING) and replaced:
        text = "uses the target's embedding instead of the stored one: the same unless the drafter trained its own"
        yield case.effect(Verdict.DEGRADED, "engine-embedding-replaced", text, row)
    gone = case.rule(Feature.EMBEDDING_ABSENT).behaviour
    if case.stored.has(Part.EMBEDDING) or Feature.EMBEDDING_ABSENT not in case.rules.chosen:
        return
    if gone is Behaviour.UNINITIALISED:
        yield from absent(case, [Role(Part.EMBEDDING)])
    else:
        yield case.unknown("treats a file without an embedding")


def activation(case: Case) -> Found:
    """An MLP activation that the engine's MLP refuses."""
    row, said = case.rule(Feature.ACTIVATION), case.spec.hidden_act
    if row.behaviour is Behaviour.REJECTED and said not in row.values:
        text = f"refuses hidden_act {said!r}: its MLP knows {', '.join(row.values)} only"
        yield case.effect(Verdict.REJECTS, "engine-activation-refused", text, row)
    elif row.behaviour is Behaviour.NOT_KNOWN and said != "silu":
        yield case.unknown(f"treats hidden_act {said!r}")


def rope(case: Case) -> Found:
    """A rope base or scaling that the engine reads elsewhere, or not at all."""
    theta, scaling = case.rule(Feature.ROPE_THETA), case.rule(Feature.ROPE_SCALING)
    if theta.behaviour is Behaviour.HONOURED:
        path, value = case.view.first(theta.values)
        seen = float(value) if isinstance(value, (int, float)) else PLAIN_THETA
        if seen != case.spec.rope.theta:
            how = f"reads {path} {seen:g}" if path else f"finds no {theta.values[-1]} and takes {seen:g}"
            text = f"{how}; the drafter was trained with base {case.spec.rope.theta:g}"
            yield case.effect(Verdict.MISREADS, ROPE, text, theta)
    kind = case.spec.rope.kind
    if kind == "default":
        return
    if scaling.behaviour is Behaviour.ABSENT:
        text = f"ignores rope scaling and rotates as if there were none; the drafter was trained with {kind}"
        yield case.effect(Verdict.MISREADS, ROPE, text, scaling)
    elif scaling.behaviour is Behaviour.REJECTED and kind not in scaling.values:
        text = f"knows rope scaling {' and '.join(scaling.values)} only; the drafter was trained with {kind}"
        yield case.effect(Verdict.REJECTS, ROPE, text, scaling)


def head_dim(case: Case) -> Found:
    """A head width that is not hidden_size over heads, where that is all the engine knows."""
    row, spec = case.rule(Feature.HEAD_DIM), case.spec
    forced = spec.hidden_size // spec.num_heads
    if spec.attention is Attention.GQA and row.behaviour is Behaviour.ABSENT and forced != spec.head_dim:
        text = f"builds heads of width {forced} (hidden_size over heads); the stored ones are {spec.head_dim} wide"
        yield case.effect(Verdict.REJECTS, WIDTH, text, row)
