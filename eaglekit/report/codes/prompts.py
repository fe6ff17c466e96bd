"""Codes of prompt files and tokenizers, raised by the room `target`."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, NOTE = Severity.ERROR, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "prompts-unreadable", ERROR, "the prompt file cannot be read",
        "It is not there, is a folder or a pipe, or may not be opened. A file is read twice, once for its digest, so that the report can say what was judged.",
        "Give the path of the file itself.",
    ),
    Code(
        "prompts-none", ERROR, "the prompt file holds no prompt",
        "An empty file, or one with blank lines only: a pipeline before it wrote nothing. Acceptance over nothing would be no number at all.",
        "Look at what wrote the file.",
    ),
    Code(
        "prompts-parquet", ERROR, "a columnar file where JSONL is read",
        "Benchmarks are published as Parquet. Reading it takes pyarrow, a hundred megabytes for a file that is read once.",
        "Export it once; the hint has the command.",
        ("nvidia/SPEED-Bench on the Hub", "NVIDIA/Model-Optimizer examples/specdec_bench/prepare_data.py"),
    ),
    Code(
        "prompts-compressed", ERROR, "a compressed file where plain text is read",
        "The first bytes are those of an archive.", "Unpack it.",
    ),
    Code(
        "prompts-too-long", ERROR, "a line or an array is too long to be prompts",
        "A line of megabytes is millions of tokens, more than any target takes, and usually a whole data set without line breaks. An array is parsed in memory as a whole.",
        "One object a line, one prompt an object.",
    ),
    Code(
        "prompts-schema-unknown", ERROR, "a row has no key that says where its prompt is",
        "Schemas are recognised by their own keys, never guessed: a file of answers or of preferences read as prompts gives numbers about something else.",
        "Name the prompt with one of the keys that the finding lists.",
        ("lm-sys/FastChat fastchat/llm_judge",),
    ),
    Code(
        "prompts-schema-mixed", ERROR, "two schemas in one file",
        "Chats go through the target's template, plain text does not. An average over both describes neither, and a file like that was usually glued together by mistake.",
        "Split the file.",
    ),
    Code(
        "prompts-field", ERROR, "a field of a prompt row holds something else than its schema says",
        "Text where ids belong, a prompt length beyond the tokens, an image where text is expected.",
        "Mend the row that the finding names.",
    ),
    Code(
        "prompts-message", ERROR, "a chat that no template can take",
        "A speaker that nobody knows, or an answer before any question. Templates drop such messages without a word, and the target then reads another prompt.",
        "Use the roles system, user, assistant and tool.",
    ),
    Code(
        "prompts-empty", ERROR, "a prompt or a response without content",
        "An empty response is most often an answer that was not saved. Counting it as an answer of no tokens would hide that.",
        "Leave the row out, or the key of the response when there is none.",
    ),
    Code(
        "prompts-token-id", ERROR, "something in a token list is no token id",
        "Floats come from data frames with gaps, -100 from labels, true and false from masks. Python would take some of them as numbers.",
        "Write ids as plain integers.",
    ),
    Code(
        "prompts-token-outside", ERROR, "token ids outside the target's vocabulary",
        "The text was tokenised for another model. Where only the largest ids are outside, all others mean other words too, and acceptance collapses for no fault of the drafter.",
        "Tokenise with the tokenizer in the target's own folder.",
    ),
    Code(
        "prompts-identity-repeated", ERROR, "two rows with one name",
        "Intervals are estimated by drawing whole texts; a text that stands twice makes them too narrow.",
        "Delete one row or rename it.",
    ),
    Code(
        "prompts-unfilled", ERROR, "benchmark rows that still hold a placeholder",
        "SPEED-Bench is published without the texts that other licences cover. A drafter measured on the placeholder sees one sentence hundreds of times and looks excellent.",
        "Run the benchmark's own preparation first.",
        ("NVIDIA/Model-Optimizer examples/specdec_bench/specdec_bench/datasets/speed.py", "NVIDIA-NeMo/Skills nemo_skills/dataset/speed-bench/prepare.py"),
    ),
    Code(
        "prompts-tokenizer-missing", ERROR, "text without a tokenizer",
        "Only the target's own tokenizer makes the ids that its engine would see.",
        "Give the target, or a file with token ids.",
    ),
    Code(
        "prompts-tokenizer-code", ERROR, "the tokenizer is code",
        "Some targets, Kimi among them, ship their tokenizer as a Python file. eaglekit never runs what lies in a checkpoint.",
        "Let the serving engine tokenise and give its ids: prompt_token_ids and response_token_ids.",
        ("moonshotai/Kimi-K2-Instruct tokenization_kimi.py",),
    ),
    Code(
        "prompts-tokenizer-unusable", ERROR, "the tokenizer cannot be loaded",
        "Quantised copies often leave the tokenizer files behind, and half-downloaded ones cannot be parsed.",
        "Copy tokenizer.json and tokenizer_config.json from the original target.",
    ),
    Code(
        "prompts-chat-template-missing", ERROR, "a chat for a target without a chat template",
        "Gluing messages together without the template gives a prompt that the target was never trained on; answers and acceptance suffer together.",
        "Add the target's template file, or give plain text to a base model.",
    ),
    Code(
        "prompts-chat-template-failed", ERROR, "the chat template refuses a chat",
        "Templates insist on alternating roles, or know no system message, and raise an error of their own.",
        "Write the chat as the template wants it.",
    ),
    Code(
        "prompts-boundary", ERROR, "prompt and response do not meet between two tokens",
        "An engine keeps the prompt's tokens and generates behind them. When prompt and response are tokenised together into other tokens, or the template writes an answered question differently "
        "(thinking models do), the response is not what the target would have spoken, and the first drafts are judged on tokens that never occur.",
        "Give the ids as the engine reported them, or let the target generate the response.",
    ),
    Code(
        "prompts-boundary-merged", NOTE, "prompt and response were tokenised apart",
        "The tokenizer merges the end of the prompt with the start of the response into one token. An engine never would: it generates behind the prompt's own tokens.",
        "Nothing to do.",
    ),
    Code(
        "prompts-first-turn", NOTE, "only first questions were taken",
        "MT-Bench and SPEED-Bench ask again after the first answer. Without the target's own answers a second question has no context.",
        "Give messages with answers to measure later turns.",
        ("vllm-project/vllm vllm/benchmarks/datasets/datasets.py",),
    ),
)  # fmt: skip
