"""Codes about measured speed: servers that are asked for it, and figures that say less than they seem to."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "bench-not-started", ERROR, "a server does not come up",
        "Two servers are compared: the target with the drafter, and the target alone. One of them ended before it answered, or said nothing for an hour. What it says last is in the finding. Memory that another program "
        "holds, a context that does not fit, and a drafter that this vLLM does not load are the usual reasons.",
        "Print the command with --dry-run and try it by itself; `eaglekit validate --engine vllm` tells more about a drafter that is not loaded.",
    ),
    Code(
        "bench-broke-off", ERROR, "a server fails under the load",
        "It came up and did not answer every request: a prompt longer than its context, memory, a crash at a batch size that was not met before. Figures of the answers before would be of an easier load.",
        "Give it room (--engine-arg max_model_len=N), ask for less (--output-tokens, --concurrency), or look into its last words.",
    ),
    Code(
        "bench-baseline-drafts", WARNING, "the baseline speculates too",
        "A speed-up is told against the target alone. Against another drafter the ratio says how much faster one drafter is than the other.",
        "Start the baseline without --speculative-config, or tell the ratio for what it is.",
    ),
    Code(
        "bench-misread", WARNING, "this engine does not read the file as it was trained",
        "What is measured is the drafter as the engine reads it. A switch that it misreads costs acceptance, and with it speed, and no text shows it.",
        "Convert for this engine first: `eaglekit convert SRC DST --for vllm`.",
    ),
    Code(
        "bench-too-short", ERROR, "no answer is long enough to be timed",
        "The time of a token is that between the first piece of an answer and the last. An answer of one piece has none.",
        "Ask for more with --output-tokens, take prompts with longer answers, or --ignore-eos.",
    ),
    Code(
        "bench-at-once", WARNING, "answers came at once, not token by token",
        "A server whose front end, or a client whose process, gets no processor for a while hands over many tokens in one moment. Their time is then that of the hand-over. Such answers are left out; that there are any "
        "says that the others may be touched too.",
        "Measure on a machine that nobody else uses, with processors to spare beside the engine's own.",
    ),
    Code(
        "bench-few-prompts", WARNING, "fewer prompts than users",
        "At a concurrency of sixteen, ten prompts make ten users, and near the end of a list fewer and fewer. The figures are of a server that is less busy than the table says, and speculation looks better there.",
        "Give each category several times as many prompts as the highest concurrency has users.",
    ),
    Code(
        "bench-answers-differ", NOTE, "the two servers answer otherwise",
        "Speculation does not change greedy answers as long as the arithmetic is the same. A batch of drafts is summed in another order than a single token, so near ties turn, and everything behind them is another text. "
        "Rates are per token, so answers of other lengths do little harm.",
        "Nothing to do while acceptance is what `eaglekit validate` predicts.",
        ("vllm-project/vllm docs/features/speculative_decoding/README.md",),
    ),
    Code(
        "bench-once", NOTE, "one round shows no spread",
        "Clocks, heat and neighbours move a server's speed by some percent from minute to minute. One round cannot tell that from a difference.",
        "Leave --repeats at three or more where the difference is small.",
    ),
    Code(
        "bench-concurrency", ERROR, "this is no list of concurrencies",
        "A concurrency is how many users ask at the same time, each one request after the other.",
        "Give whole numbers from 1 on with commas between them, such as 1,4,16.",
    ),
    Code(
        "bench-users", ERROR, "more users than this machine lets one program be",
        "Each user is a thread with a connection of its own. Systems limit how many files a program has open, how many threads it has and how much memory it asks for; a user who cannot connect would look like a server that does not answer.",
        "Give a lower --concurrency, or raise the limit in the shell that starts bench: `ulimit -n 8192`.",
    ),
)  # fmt: skip
