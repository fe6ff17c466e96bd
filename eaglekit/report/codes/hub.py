"""Codes raised while a checkpoint is read from a Hugging Face Hub."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CLIENT = "https://github.com/huggingface/huggingface_hub/blob/main/src/huggingface_hub/utils/_http.py"
TOKENS = "https://huggingface.co/docs/hub/security-tokens"
ENVIRONMENT = "https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables"

CODES: tuple[Code, ...] = (
    Code(
        "hub-id-invalid",
        ERROR,
        "This is neither a folder nor a Hub id",
        "A checkpoint is given as a folder or as ORG/NAME with an optional @REVISION. A folder that exists always "
        "wins; whatever starts with `./`, `/`, `~` or holds a backslash is taken for a folder and never sent to the "
        "Hub. The rest must be a name the Hub could have given: other text would only come back as 'not found'.",
        "Write ./NAME for a folder, or ORG/NAME as it stands at the top of the model's page.",
        ("https://github.com/huggingface/huggingface_hub/blob/main/src/huggingface_hub/utils/_validators.py",),
    ),
    Code(
        "hub-repository-not-found",
        ERROR,
        "The Hub shows no such model",
        "To somebody who may not see it, the Hub answers for a private model what it answers for a missing one, so "
        "that private names are not betrayed. A wrong spelling, a missing token and a token of the wrong account "
        "look alike. A folder whose name has one slash and does not exist is looked up as a Hub id too.",
        "Check the spelling; log in with `hf auth login`, and see with `hf auth whoami` which account that was.",
        (CLIENT, "https://github.com/huggingface/huggingface_hub/issues/2002"),
    ),
    Code(
        "hub-repository-gated",
        ERROR,
        "The model is gated and this account has not been let in",
        "Anybody sees the page and the file list of a gated model; its files open only for accounts that accepted the "
        "terms, and sometimes only after the owner said yes. A token limited to some models needs the right to read "
        "gated ones as well.",
        "Accept the terms on the model's page with the account that the token belongs to, then run the command again.",
        (CLIENT, "https://huggingface.co/docs/hub/models-gated"),
    ),
    Code(
        "hub-repository-disabled",
        ERROR,
        "The Hub has closed this model",
        "The Hub can close a repository, for a licence claim or for malicious files. Its files are served to nobody "
        "then.",
        "Ask its owner for another place, or use a copy you already have and trust.",
        (CLIENT,),
    ),
    Code(
        "hub-revision-not-found",
        ERROR,
        "The model has no such branch, tag or commit",
        "Branches disappear when a pull request is merged, commits when a history is squashed. eaglekit reads one "
        "commit and nothing else: falling back to `main` would describe other weights than those that were asked "
        "for.",
        "Look at the branches, tags and commits on the model's page; a pull request is written refs/pr/NUMBER.",
        (CLIENT, "https://github.com/huggingface/huggingface_hub/issues/2602"),
    ),
    Code(
        "hub-file-not-found",
        ERROR,
        "The Hub lists a file that it does not serve",
        "The listing of the commit names the file and its address answers that there is none. This is a fault of the "
        "server, usually of a mirror that has copied half a repository.",
        "Run the command again later, or without the mirror (unset HF_ENDPOINT).",
        (CLIENT,),
    ),
    Code(
        "hub-access-denied",
        ERROR,
        "The token does not allow this",
        "The Hub knows the account and refuses. Fine-grained tokens allow reading only what was ticked when they were "
        "made; organisations can forbid tokens, addresses or countries.",
        "Make a token that may read this model, or ask the organisation that owns it.",
        (TOKENS, "https://github.com/huggingface/huggingface_hub/issues/2955"),
    ),
    Code(
        "hub-token-rejected",
        ERROR,
        "The Hub does not know this token",
        "A token that was revoked, has run out or belongs to another Hub is refused even for public models. "
        "HF_TOKEN in the environment wins over the token that `hf auth login` saved, which is how an old one comes "
        "back.",
        "See where the token comes from (`hf auth whoami`, then HF_TOKEN), and log in again with `hf auth login`.",
        (TOKENS, ENVIRONMENT),
    ),
    Code(
        "hub-token-unusable",
        ERROR,
        "The token for the Hub cannot be used",
        "A token is plain ASCII without spaces. One pasted with a line break, quotation marks or a lost glyph cannot "
        "be sent, and the HTTP library's error would show it in full; so eaglekit stops before. The same is said when "
        "the file that `hf auth login` wrote cannot be read.",
        "Set HF_TOKEN anew, or run `hf auth login`; the value is not shown here.",
        (TOKENS,),
    ),
    Code(
        "hub-offline",
        ERROR,
        "Offline mode is on and a Hub id was given",
        "With HF_HUB_OFFLINE set nothing is asked of the Hub. eaglekit does not guess which cached snapshot a branch "
        "would stand for today: two tools guessing differently is how a target and a draft of different commits meet.",
        "Give the folder of a snapshot that is already here, or unset HF_HUB_OFFLINE.",
        (ENVIRONMENT, "https://github.com/oumi-ai/oumi/pull/2523"),
    ),
    Code(
        "hub-unreachable",
        ERROR,
        "The Hub cannot be reached",
        "No connection came about, or no answer in time, after several tries. Behind a company's proxy the usual "
        "causes are a missing HTTPS_PROXY and a certificate that Python does not know; with a mirror, a wrong "
        "HF_ENDPOINT.",
        "Check the connection, HTTPS_PROXY and HF_ENDPOINT; HF_HUB_DOWNLOAD_TIMEOUT makes a slow line wait longer.",
        (ENVIRONMENT,),
    ),
    Code(
        "hub-rate-limited",
        ERROR,
        "The Hub asks to slow down",
        "Too many requests were sent from this account or address; anonymous ones share one small allowance. The "
        "pauses that the Hub asked for were kept and did not suffice.",
        "Wait some minutes; log in with `hf auth login`, which raises the limit.",
        (
            "https://huggingface.co/docs/hub/rate-limits",
            "https://github.com/huggingface/huggingface_hub/issues/3071",
        ),
    ),
    Code(
        "hub-server-error",
        ERROR,
        "The Hub failed",
        "The server answered with an error of its own, more than once. Nothing is wrong with the checkpoint as far as "
        "anybody knows.",
        "Run the command again later; https://status.huggingface.co tells of outages.",
        ("https://github.com/huggingface/huggingface_hub/issues/2587",),
    ),
    Code(
        "hub-answer-wrong",
        ERROR,
        "The server's answer does not fit the question",
        "Bytes of another range, another file size than listed, another commit than asked for, a listing that is no "
        "listing: behind this stands a proxy or a mirror that does not do what the Hub does. Reading on would describe "
        "weights by bytes that belong to something else.",
        "Run the command again without the proxy or mirror (unset HF_ENDPOINT), or download the model and give the "
        "folder.",
        ("https://www.rfc-editor.org/rfc/rfc9110#name-range-requests",),
    ),
    Code(
        "hub-range-ignored",
        ERROR,
        "The server sends whole files where a part was asked for",
        "eaglekit reads headers, a few kilobytes of a file of gigabytes. A server that ignores the Range header would "
        "send all that comes before the wanted bytes; the transfer was cut off instead.",
        "Download the model with `hf download` and give the folder, or use a server that knows ranges.",
        ("https://www.rfc-editor.org/rfc/rfc9110#name-range",),
    ),
    Code(
        "hub-transfer-broken",
        ERROR,
        "The connection kept breaking off",
        "The transfer was taken up again where it had stopped, several times, and broke off each time.",
        "Run the command again; if it stays so, download the model with `hf download`, which resumes, and give the "
        "folder.",
        ("https://github.com/huggingface/huggingface_hub/issues/3747",),
    ),
    Code(
        "hub-download-failed",
        ERROR,
        "A file could not be written to the Hugging Face cache",
        "Files are fetched into the cache that all Hugging Face tools share (HF_HOME, HF_HUB_CACHE). A full disk, a "
        "quota or a cache that belongs to another user stops the download; what had arrived stays and is used next "
        "time.",
        "Free space or point HF_HOME to a disk that has some, then run the command again.",
        (ENVIRONMENT,),
    ),
    Code(
        "hub-cache-damaged",
        ERROR,
        "A cached file is not as long as the one on the Hub",
        "The Hugging Face cache trusts what it holds: a file that was cut by a full disk or a killed process is handed "
        "out again for ever. Weights that lack their tail load as an error at best.",
        "Find what is damaged with `hf cache verify ORG/NAME`, then fetch it again with --force-download.",
        ("https://huggingface.co/docs/huggingface_hub/guides/manage-cache",),
    ),
)
