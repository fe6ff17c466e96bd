"""Codes about real engines: what they load, draft and count beside the reference, and servers that are asked."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "engine-missing", ERROR, "vLLM is not where it was looked for",
        "vLLM fixes its own torch, so it usually lives in an environment of its own. eaglekit never imports it: it starts that environment's Python.",
        "Name the Python: --engine-python PATH, or the variable EAGLEKIT_VLLM_PYTHON.",
    ),
    Code(
        "engine-argument", ERROR, "an argument for vLLM that cannot be given",
        "The job itself states target, drafter and how they are spread; what is measured would otherwise be something else. Values are JSON.",
        "Use NAME=VALUE with one of vLLM's own engine arguments, such as gpu_memory_utilization=0.8.",
    ),
    Code(
        "served-not-loaded", ERROR, "the engine does not load the drafter with its target",
        "The file is right by itself, and an engine does not take it: a spelling that it does not know, a tensor that it has no place for, not enough memory. What it says last is in the finding, with the place in "
        "its source. Most load failures reported for EAGLE-3 drafters are of the first two kinds.",
        "Compare with `eaglekit inspect`, convert for this engine, or change how it is started with --engine-arg.",
        ("vllm-project/vllm vllm/model_executor/models/llama_eagle3.py",),
    ),
    Code(
        "served-broke-off", ERROR, "the engine gave up in the middle",
        "It loaded, and failed over a prompt: shapes that are looked at with the first batch only, memory, a crash. Four captured layers without num_aux_hidden_states do this in vLLM 0.32.",
        "The engine's own words name the place.",
    ),
    Code(
        "served-drafts-differ", ERROR, "the engine drafts other tokens than the reference",
        "An engine that misreads a drafter still serves right text, because wrong drafts are rejected; only the speed-up is gone. On the same text the drafts must be the same tokens, up to ties. The first that is not "
        "tells where to look: a first draft that differs means the input (layers, norms, rope, the map), later ones mean what is fed back.",
        "Look at the first difference and its logits; `eaglekit inspect` shows how each engine reads each switch.",
        ("vllm-project/vllm#48894", "vllm-project/speculators#508"),
    ),
    Code(
        "served-drafts-tie", NOTE, "two tokens are nearer than rounding can tell",
        "Sums in another order give other last digits. Where the best two logits are that near, two right programs may draft either.",
        "Nothing to do.",
    ),
    Code(
        "served-layers-differ", ERROR, "the engine hands the drafter other layers than it was trained on",
        "Ids of captured layers mean the input of a block in one program and its output in another. One block off, drafts look plausible and acceptance drops by a third to a half.",
        "State the layers with --aux-layers and convert: the portable form says them to each engine in its own count.",
        ("vllm-project/vllm vllm/model_executor/models/llama_eagle3.py",),
    ),
    Code(
        "served-counters-differ", ERROR, "the engine counts other acceptance than the reference's drafts make",
        "Which drafts are accepted follows from the drafts and the text. When the engine's counters say otherwise, it drafts otherwise, or counts requests that are not these.",
        "See the table `served`; in one process the first draft that differs is shown.",
    ),
    Code(
        "served-answers-differ", NOTE, "the engine answers otherwise than the given responses",
        "Greedy answers of the same model under another arithmetic part at near ties; sampled ones, or those of another model, part anywhere. The engine's own answers are what is compared, so the comparison stands. "
        "When the reference's target is sure of the given token, the target itself computes otherwise in the engine.",
        "Where it is a warning, compare the targets first.",
    ),
    Code(
        "served-not-compared", WARNING, "answers without states of the target",
        "The reference needs the target's states over the very text that the engine made. A capture holds them for its own texts only.",
        "Give --target and --prompts.",
    ),
    Code(
        "served-plain-rotation", NOTE, "vLLM's rotary kernel for CPUs is left out",
        "The CPU build of vLLM 0.32 turns queries wrongly where channels are paired one by one (MLA), already at the first position; keys are right. Served with it, half the drafts are others and log-probabilities "
        "are off by up to 0.3. Its plain torch form is exact, and is what runs here.",
        "Serving MLA models on a CPU needs --compilation-config '{\"custom_ops\": [\"-rotary_embedding\"]}' too.",
        ("vLLM 0.32.0 vllm/model_executor/layers/rotary_embedding/base.py, forward_cpu",),
    ),
    Code(
        "engine-not-loaded", ERROR, "the engine does not run this target with its states handed out",
        "vLLM hands out states for the families it knows EAGLE-3 drafters for, and in 0.32 not over pipeline stages. Weights that do not fit, or a family it does not know, end the same way. What it says last is in "
        "the finding, with the place in its source.",
        "Change how it is started with --engine-arg, spread it with --tensor-parallel-size, or leave --engine out: the target is then run here, block by block.",
        ("vLLM 0.32.0 vllm/v1/spec_decode/extract_hidden_states.py", "vLLM 0.32.0 vllm/config/model.py, verify_with_parallel_config"),
    ),
    Code(
        "engine-broke-off", ERROR, "the engine gave up over a text",
        "It loaded the target, and failed while texts went through: memory for logits of the whole vocabulary, which the next tokens are read from, a layer that this family cannot hand out, a crash.",
        "The engine's own words name the place. A smaller max_num_batched_tokens takes less memory.",
    ),
    Code(
        "engine-states-unusable", ERROR, "what the engine hands out is no capture of the target",
        "States one layer off look like states, and a drafter that is measured on them looks bad for no reason. So layers, shapes, tokens and dtype are compared, and the target's own head is asked at some positions "
        "whether it says the engine's next token: with other states, or another norm, it does not.",
        "Try another version of vLLM, or --dtype float32 or bfloat16. Without --engine the target is run here.",
        ("vLLM 0.32.0 vllm/distributed/kv_transfer/kv_connector/v1/example_hidden_states_connector.py",),
    ),
    Code(
        "endpoint-address", ERROR, "this is no address of a server",
        "The address is where clients of the server reach it. A password in it would end up in reports and logs.",
        "Give http://HOST:PORT; the key belongs into the variable VLLM_API_KEY.",
    ),
    Code(
        "endpoint-silent", ERROR, "the server does not answer",
        "Nothing listens there, a name does not resolve, or it took longer than an hour.",
        "Look whether it runs and can be reached from here.",
    ),
    Code(
        "endpoint-refused", ERROR, "the server refuses",
        "It wants a key, the path does not exist there, or the request does not suit its model. Redirects are not followed: they would hand the key to somebody else.",
        "Set VLLM_API_KEY, or look into its log.",
    ),
    Code(
        "endpoint-unusable", ERROR, "the answer of the server is not vLLM's",
        "Counters and token ids are read from vLLM's own server. Others speak the same protocol without either.",
        "Give the address of the vLLM server itself, not of a gateway in front of it.",
    ),
    Code(
        "endpoint-not-drafting", ERROR, "the server does not speculate",
        "A server that was started without --speculative-config has no counters of drafts.",
        "Start it with the command that `eaglekit recipe` prints.",
    ),
    Code(
        "endpoint-draft-tokens", ERROR, "the server drafts another number of tokens",
        "Acceptance lengths with different numbers of drafts cannot be compared: their ceilings differ.",
        "Give the server's number with --draft-tokens.",
    ),
    Code(
        "endpoint-restarted", ERROR, "the server's counters went back",
        "It was started anew meanwhile, or several servers take turns behind one address. Differences of counters mean nothing then.",
        "Measure one server.",
    ),
    Code(
        "endpoint-other-traffic", WARNING, "somebody else used the server meanwhile",
        "Its counters are sums over all requests. Where it tells figures by request (--per-request-spec-decode-metrics), those are used, and others do no harm.",
        "Measure while nobody else uses the server, or start it so that it tells figures by request.",
    ),
)  # fmt: skip
