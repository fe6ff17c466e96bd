"""Codes of the room `validate`: what is wrong with how a drafter computes, and with what it is measured on."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "extras-missing", ERROR, "a package is missing that computing needs",
        "Looking at a drafter needs no torch; computing with one does. eaglekit installs without it, so that converting "
        "stays small.",
        "pip install 'eaglekit[validate]', with the torch build for your machine. Without it `eaglekit validate DRAFTER "
        "--target TARGET` checks the structure all the same.",
    ),
    Code(
        "extras-absent", NOTE, "only the structure was checked, because torch is not installed",
        "Structure is files and headers. Whether the numbers are finite and what the drafter is worth was not looked at.",
        "pip install 'eaglekit[validate]' and run it again.",
    ),
    Code(
        "head-misplaced", ERROR, "the head's rows are the target's rows of other tokens",
        "A head that is cut out of the target's takes row target_ids[r]. Who takes the map's offsets for token ids takes "
        "other rows: every draft is a wrong token, the text stays right, and nothing is faster.",
        "Cut the head again, with row number + offset, or train it again.",
        ("TorchSpec tools/convert_to_hf.py, the pruned head",),
    ),
    Code(
        "weights-not-finite", ERROR, "weights are NaN or infinite",
        "One infinite weight makes every logit NaN. Engines then draft token 0, or whatever their argmax gives for NaN, "
        "and reject all of it.",
        "Look for the last good checkpoint of the training run; a cast to F16 overflows above 65504.",
    ),
    Code(
        "output-not-finite", ERROR, "the drafter computes NaN or infinity from finite numbers",
        "The weights are finite and the result is not: a state grows until it overflows, or an epsilon is missing. In F16 "
        "that happens earlier than in BF16.",
        "Try --dtype float32; when that is finite, serve the drafter in bfloat16.",
    ),
    Code(
        "states-not-finite", ERROR, "the captured states of the target are NaN or infinite",
        "The drafter was not judged: what it reads is already broken. A wrong scale of a quantised target does this.",
        "Check the target alone; capture it again in float32.",
    ),
    Code(
        "claim-broken", ERROR, "a file that says it is the same function is another one",
        "The provenance of a converted folder says that the function was preserved, and names the digest of its source. "
        "Beside that source its tensors or its meaning differ: somebody changed one of them afterwards.",
        "Convert it again, or compare the two with eaglekit diff.",
    ),
    Code(
        "baseline-parity", ERROR, "the same function gives other numbers",
        "Both files hold the same bytes in the same roles and mean the same, so the logits must be equal bit for bit. When "
        "they are not, one of them is read wrongly.",
        "Report it with the output of --json: this is a mistake in eaglekit.",
    ),
    Code(
        "baseline-other", NOTE, "the baseline is another function",
        "Nothing is wrong with that: the two are measured side by side.", "Nothing to do.",
    ),
    Code(
        "responses-missing", ERROR, "the prompts have no responses",
        "Acceptance is counted against what the target answered. A prompt alone says nothing of it.",
        "Add --generate N to let the target answer, or give a prompt file that holds its responses.",
    ),
    Code(
        "texts-few", NOTE, "measured on so few texts that the intervals are too narrow",
        "An interval is made by drawing the texts again and again. A handful cannot show how differently texts behave, so "
        "the interval comes out too narrow, and with one text there is none.",
        "Measure on more texts, of the kind that will be served.",
    ),
    Code(
        "texts-too-short", ERROR, "no text is long enough for one round",
        "A round of K drafts is counted when all of them lie within the text; cutting rounds off at the end would only "
        "show rejections.",
        "Give longer responses, or fewer --draft-tokens.",
    ),
    Code(
        "response-not-greedy", WARNING, "the responses are not what the target would say itself",
        "Greedy acceptance compares drafts with the target's most likely tokens, and the text stands for them. Responses "
        "that were sampled, or written by another model, follow another path: the figures then tell how the drafter fits "
        "that text.",
        "Use --generate N, or responses of this target at temperature 0.",
    ),
    Code(
        "capture-boundaries", ERROR, "the capture lacks states that the drafter reads",
        "A capture holds the target's states at some boundaries. A drafter that reads others cannot be run on it.",
        "Capture again with the drafter's own --aux-layers.",
    ),
    Code(
        "capture-misfit", ERROR, "the capture is of another target than the drafter is for",
        "Hidden size, vocabulary or depth differ, so the states mean nothing to this drafter.",
        "Capture the drafter's own target.",
    ),
    Code(
        "capture-target-differs", WARNING, "the capture is of other files than the target that is given",
        "States, final states and argmax come from the capture; a shared embedding or head, and the sampled figures, come "
        "from --target. Another export of the same model is fine for that, another training step of it is not.",
        "Give the target that was captured, unless the two are known to share embedding and head.",
    ),
    Code(
        "acceptance-none", ERROR, "hardly a draft is accepted",
        "An acceptance length near 1.00 means that the target makes every token itself, and drafting only costs time. A "
        "trained drafter is never that bad on its own target. The usual causes, most frequent first: the layers are one "
        "block off or are not those of the training; a flag is ignored or wrong (norm_output, norm_before_residual, "
        "fc_norm); the vocabulary map is off; the rope base is another; the embedding is not the target's; it is the "
        "drafter of another target, or was never trained.",
        "Try --probe-layers first. Then compare the flags with the training run, and eaglekit inspect with what it shows.",
        ("github.com/sgl-project/sglang/pull/25454", "github.com/vllm-project/vllm/pull/46788"),
    ),
    Code(
        "acceptance-below", ERROR, "the acceptance length is below what was asked for",
        "--min-acceptance-length is a gate: the exit code is 1 below it.",
        "Look at acceptance by position and by category: a fall from the first to the second draft speaks of drift.",
    ),
    Code(
        "acceptance-unmeasured", ERROR, "an acceptance length was asked for and could not be measured",
        "A gate that is not reached is not passed.", "The stages in the report tell what stood in the way.",
    ),
    Code(
        "state-growth", NOTE, "the drafter's state grows from draft to draft",
        "An EAGLE-3 drafter feeds its un-normed state back, and each step adds to it; attention then moves from the first "
        "token to the drafter's own slots, and later drafts get worse. EAGLE 3.1 drafters are trained to feed the normed "
        "state back.",
        "Nothing in the file can mend it: --set norm_output=true on a drafter that was not trained so makes it worse. "
        "Serve fewer draft tokens, or train a 3.1 drafter.",
    ),
    Code(
        "layers-probed", ERROR, "the layer ids are in doubt, and one reading fits",
        "The file does not decide which target states it means. The drafter was measured under each reading; one of them "
        "gets more drafts accepted. A measurement is strong evidence, and still yours to confirm: nothing is guessed.",
        "Say what fits with --aux-layers, and validate again; eaglekit convert then writes it down.",
    ),
    Code(
        "layers-off", ERROR, "the drafter does better on other layers than it says",
        "The stated layers were probed one block lower and higher, and one of these fits better: the ids were written in "
        "one convention and read in the other. vLLM and SGLang use one key with two meanings.",
        "Validate with the --aux-layers that fit; when it holds, convert with them.",
        ("github.com/sgl-project/sglang/pull/25454",),
    ),
    Code(
        "layers-undecided", WARNING, "measuring does not decide between the readings of the layers",
        "The readings get about as many drafts accepted as each other: too little text, or a drafter that is bad under "
        "each of them.",
        "Give more text, or ask whoever trained the drafter.",
    ),
    Code(
        "readings-not-captured", WARNING, "some readings of the layers could not be measured",
        "The capture lacks the states that these readings need.", "Capture again with more boundaries, or give --target.",
    ),
)  # fmt: skip
