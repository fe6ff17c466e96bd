"""What is known about an engine, as rows: feature, versions, behaviour, source; and the rules that rows compose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from eaglekit.drafter import Attention
from eaglekit.engines.model import Span, Version


class Feature(str, Enum):
    """Something about a checkpoint that engines treat differently."""

    SPECULATORS_FORMAT = "a speculators config"
    PLAIN_FORMAT = "a plain drafter config"
    GGUF = "a GGUF drafter"
    SPECULATORS_TYPES = "speculators_model_type"
    SPECULATORS_CLASSES = "class by transformer_layer_config.model_type"
    COPIED_KEYS = "top-level keys its speculators reader keeps"
    COPIED_KEYS_PARALLEL = "top-level keys its speculators reader keeps of a P-EAGLE config"
    KEYS_LEFT_INSIDE = "kept keys that it leaves alone in transformer_layer_config when the top level has none"
    ASSUMED_RESIDUAL = "norm_before_residual absent in a speculators config"
    LOOKUP = "architectures"
    ARCHITECTURES = "registered class names"
    MODEL_TYPES = "model_type of an MLA drafter"
    OTHER_MODEL_TYPES = "model_type of an MLA drafter that it takes for another kind of model"
    TARGETS = "families of the target"
    OUTER_PREFIX = "tensor names under `model.`"
    LAYER_NAMES = "names of layer 0"
    UNEXPECTED_TENSOR = "an unexpected tensor"
    UNEXPECTED_BIAS = "an unexpected bias"
    UNEXPECTED_INPUT_NORM = "input_norm.weight without its flag"
    MISSING_TENSOR = "a missing tensor"
    DEPTH = "num_hidden_layers"
    LATER_NORM = "attention norm of later layers"
    FC_NORM = "fc_norm"
    OLD_STATE_NORMS = "aux_norm_low, aux_norm_mid, aux_norm_high"
    NORM_BEFORE_FC = "norm_before_fc"
    NORM_OUTPUT = "norm_output"
    NORM_BEFORE_RESIDUAL = "norm_before_residual"
    QK_NORM = "q/k norms"
    ATTENTION_BIAS = "attention biases"
    OUTPUT_BIAS = "bias of the attention's output"
    MLP_BIAS = "MLP biases"
    FC_BIAS = "a bias of fc"
    WIDTH = "number of captured states fc is built for"
    TARGET_WIDTH = "target_hidden_size"
    FC_BY_WIDTH = "fc applied by width"
    RUNNERS = "model runners"
    IDS = "layer ids"
    IDS_V2 = "layer ids on the V2 runner"
    DEFAULT_IDS = "layers without ids"
    LAST_BOUNDARY = "output of the target's last block"
    LAST_ID = "id of the target's last block"
    FIRST_BOUNDARY = "the target's embeddings as captured state"
    USE_AUX = "use_aux_hidden_state"
    USE_AUX_V2 = "use_aux_hidden_state on the V2 runner"
    PARALLEL = "parallel drafting"
    MASK_ID = "mask token id"
    DRAFT_VOCAB_ABSENT = "draft_vocab_size absent"
    PRUNED_HEAD = "a pruned draft vocabulary"
    MAP = "d2t"
    MAP_ABSENT = "d2t absent at a pruned vocabulary"
    MAP_AT_FULL_VOCABULARY = "d2t at full vocabulary"
    MAP_PAST_VOCABULARY = "d2t past the target's vocabulary"
    MASK_ABSENT = "t2d absent"
    VOCAB_SIZE = "vocab_size other than the target's"
    TIED_HEAD = "tie_word_embeddings with a head of its own"
    HEAD_ABSENT = "no head"
    EMBEDDING = "own embedding"
    EMBEDDING_ABSENT = "no embedding"
    ACTIVATION = "hidden_act"
    ROPE_THETA = "rope base"
    ROPE_SCALING = "rope scaling"
    HEAD_DIM = "head_dim"
    QUERY_RANK = "MLA without q_lora_rank"


class Behaviour(str, Enum):
    """What an engine does. `Capability.values` holds the paths or names it does it with."""

    HONOURED = "honoured"
    ABSENT = "unknown to it"
    REJECTED = "refused"
    DROPPED = "dropped silently"
    WARNED = "dropped with a warning"
    UNINITIALISED = "left as initialised"
    NOT_APPLIED = "loaded and never applied"
    ASSUMED_TRUE = "taken for true"
    NOT_KNOWN = "not known"
    # LOOKUP
    EXACT = "looked up as written"
    PREFIXED = "Eagle3 put in front of a name that neither starts nor ends with it"
    BY_ATTENTION = "not looked at: the kind of attention decides"
    # SPECULATORS_FORMAT
    FLATTENED = "rebuilt from transformer_layer_config and the keys it keeps"
    MERGED = "read as it is"
    # DEPTH
    FROM_CONFIG = "as many layers as the config says"
    ONE = "one layer, whatever the config says"
    ONE_ENFORCED = "one layer, anything else is refused"
    # IDS: the values are names of eaglekit.dialects.families rules
    BOUNDARY = "boundary"
    SGLANG = "sglang"
    SGLANG_DEEPSEEK = "sglang-deepseek"
    SGLANG_GPT_OSS = "sglang-gpt-oss"
    TOKENSPEED = "tokenspeed"
    TOKENSPEED_DEEPSEEK = "tokenspeed-deepseek"
    TOKENSPEED_K3 = "tokenspeed-kimi-k3"
    ARGUMENT = "asked for by an argument, not by the file"
    # DEFAULT_IDS
    EARLY_MIDDLE_LATE = "2, L//2, L-3"
    ONE_LATER = "3, L//2+1, L-2"
    # LAST_BOUNDARY, LAST_ID, FIRST_BOUNDARY
    CAPTURED = "captured"
    NEVER = "never captured"
    UNFILLED = "never filled: what lies in the buffer is taken"
    # RUNNERS
    V1 = "V1"
    V2_OR_V1 = "V2; V1 on CPU, without Triton, for parallel drafting or when told"
    BOTH = "V1 for some models, V2 for others"
    # HEAD_ABSENT, MAP_ABSENT, VOCAB_SIZE, EMBEDDING
    FILLED = "taken from the target"
    REJECTED_AT_FULL_VOCABULARY = "refused when the draft vocabulary is the target's"
    FILLED_IF_NULL = "taken from the target when draft_vocab_size is null"
    IDENTITY = "draft id i stands for target id i"
    KEPT = "kept"
    REPLACED = "replaced by the target's"
    REPLACED_AT_SAME_WIDTH = "replaced by the target's when both are equally wide"


class Confirmation(str, Enum):
    """How it is known that a row is right."""

    RUN = "run here"
    """The engine itself was seen to do it, by our own suite."""
    READ = "read"
    """Its code says so."""
    REPORTED = "reported"
    """An issue or a pull request says so."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One fact about an engine."""

    engine: str
    drafter: str
    """The drafter class of the engine; `*` for all of them."""
    feature: Feature
    span: Span
    behaviour: Behaviour
    source: str
    """A public file or thread."""
    values: tuple[str, ...] = ()
    """Config paths in the order they are looked at, names it accepts, or kinds it knows."""
    family: str = ""
    """A family of `eaglekit.dialects.families`, or a model_type, for which alone the row holds."""


@dataclass(frozen=True, slots=True)
class DrafterClass:
    """A class of an engine that runs drafters."""

    name: str
    attention: Attention
    title: str
    """As messages name it."""


@dataclass(frozen=True, slots=True)
class Release:
    """A version whose behaviour is known."""

    version: Version
    source: str
    """Where its code was read."""


@dataclass(frozen=True, slots=True)
class Trials:
    """A suite of ours that tries every row of one version on the engine itself."""

    version: Version
    suite: str
    """What runs it."""
    untried: Mapping[Feature, str]
    """Rows that cannot be tried where it runs, and why."""
    families: frozenset[str]
    """Families of targets for which rows of their own are tried."""
    drafters: tuple[str, ...] = ("*",)
    """The classes that are tried, as rows name them."""
    on: str = "the engine itself"
    """What of the engine runs."""

    def cover(self, row: Capability) -> bool:
        """Whether the suite tries `row`."""
        drafter = "*" in self.drafters or row.drafter in ("*", *self.drafters)
        family = not row.family or row.family in self.families
        return drafter and family and self.version in row.span and row.feature not in self.untried


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that loads drafters."""

    name: str
    title: str
    releases: tuple[Release, ...]
    """Oldest first."""
    classes: tuple[DrafterClass, ...]
    rows: tuple[Capability, ...]
    hint: str = ""
    """What somebody who serves with it must know besides the file."""
    read_throughout: bool = False
    """Whether the code of every release was read; else a row that names a thread is known from that thread."""
    trials: Trials | None = None

    @property
    def versions(self) -> tuple[Version, ...]:
        """The known versions, oldest first."""
        return tuple(release.version for release in self.releases)

    def confirmation(self, row: Capability) -> Confirmation:
        """How it is known that `row` is right."""
        if self.trials is not None and self.trials.cover(row):
            return Confirmation.RUN
        return Confirmation.REPORTED if "#" in row.source and not self.read_throughout else Confirmation.READ

    def turns(self) -> frozenset[Version]:
        """The known versions at which some row begins or ends to hold."""
        bounds = {bound for row in self.rows for bound in (row.span.since, row.span.until) if bound is not None}
        # A bound between two known versions turns at the next known one.
        firsts = (next((version for version in self.versions if version >= bound), None) for bound in bounds)
        return frozenset(version for version in firsts if version is not None)


@dataclass(frozen=True, slots=True)
class Rules:
    """What one class of an engine does at one version, for one family of targets."""

    engine: Engine
    chosen: Mapping[Feature, Capability]
    rivals: Mapping[Feature, tuple[Capability, ...]]
    """Every row that would hold for some family: what may happen when the family is not known."""

    def of(self, feature: Feature) -> Capability:
        """The row that holds; a row that says NOT_KNOWN when nobody has established any."""
        return self.chosen.get(feature) or Capability(
            self.engine.name, "*", feature, Span(), Behaviour.NOT_KNOWN, "not established"
        )

    def does(self, feature: Feature) -> Behaviour:
        """The behaviour of the row that holds."""
        return self.of(feature).behaviour


UNITED = frozenset({Feature.ARCHITECTURES, Feature.COPIED_KEYS, Feature.COPIED_KEYS_PARALLEL})
"""Features whose rows add up: every row that holds contributes its values."""


def compose(engine: Engine, version: Version, *, drafter: str, families: tuple[str, ...]) -> Rules:
    """The rules of class `drafter` at `version`; a row for the class beats `*`, a row for the family beats both.

    `families` are the names the target answers to: its model_type and its family, the more special first.
    """
    chosen: dict[Feature, Capability] = {}
    rivals: dict[Feature, tuple[Capability, ...]] = {}
    holding = [row for row in engine.rows if row.drafter in (drafter, "*") and version in row.span]
    for row in sorted(holding, key=lambda row: _rank(row, families)):
        rivals[row.feature] = (*rivals.get(row.feature, ()), row)
        if row.family and row.family not in families:
            continue
        chosen[row.feature] = _united(chosen.get(row.feature), row) if row.feature in UNITED else row
    return Rules(engine, chosen, rivals)


def _rank(row: Capability, families: tuple[str, ...]) -> tuple[int, bool]:
    special = len(families) - families.index(row.family) if row.family in families else 0
    return special, row.drafter != "*"


def _united(before: Capability | None, row: Capability) -> Capability:
    values = (*(before.values if before else ()), *row.values)
    return Capability(row.engine, row.drafter, row.feature, row.span, row.behaviour, row.source, values, row.family)


def since(version: str) -> Span:
    """From `version` on."""
    return Span(Version.parse(version), None)


def before(version: str) -> Span:
    """Every version older than `version`."""
    return Span(None, Version.parse(version))


def between(first: str, end: str) -> Span:
    """From `first` up to, not including, `end`."""
    return Span(Version.parse(first), Version.parse(end))


EVER = Span()
"""Every known version."""


def releases(versions: Iterable[str], source: str) -> tuple[Release, ...]:
    """Releases read in the same place."""
    return tuple(Release(Version.parse(version), source) for version in versions)
