"""Codes raised while a published drafter is pulled, and while its claims are repeated."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

SUMS = "https://www.gnu.org/software/coreutils/manual/html_node/sha2-utilities.html"
PICKLE = "https://huggingface.co/docs/hub/security-pickle"
DOWNLOAD = "https://huggingface.co/docs/huggingface_hub/guides/download"

CODES: tuple[Code, ...] = (
    Code(
        "pull-manifest-absent",
        ERROR,
        "The repository has no manifest",
        "Pulling means to end with the bytes that the publisher had. SHA256SUMS is what says which those are: the Hub's own listing has SHA-256 for large files only, and whoever can replace a file there replaces its entry as well.",
        "Ask the owner to push with eaglekit, or download without proof with `hf download`.",
        (SUMS,),
    ),
    Code(
        "pull-manifest-invalid",
        ERROR,
        "The manifest is not one that can be followed",
        "A manifest decides what is written under which name, and it comes from somebody else. A name that climbs out of the folder, is absolute or hidden, a file that is listed twice, or thousands of entries are refused before anything is written.",
        "Tell the owner of the repository; nothing was written.",
        (SUMS,),
    ),
    Code(
        "pull-manifest-unexpected",
        ERROR,
        "The manifest is not the announced one",
        "A push prints the SHA-256 of its manifest, and through it of every file. When the publisher announced that digest somewhere else than on the Hub, `--expect` holds the repository against it: whoever took over the repository can replace files and manifest, but not the announcement.",
        "Give the commit that was announced with the digest. When that is the commit, do not use the files, and tell the publisher.",
    ),
    Code(
        "pull-file-missing",
        ERROR,
        "A file of the manifest is not there",
        "The manifest lists a file that the folder or the commit does not have. It was removed or renamed after the manifest was made, so that what is left is not what was judged and published.",
        "Take an earlier commit (ORG/NAME@COMMIT), or ask the owner to push again.",
    ),
    Code(
        "pull-file-differs",
        ERROR,
        "The Hub lists a file otherwise than the manifest",
        "Size or SHA-256 in the listing of the commit differ from the manifest: somebody replaced the file, for example with another upload tool, and did not make a new manifest. The report beside it is then about other bytes. This is told before gigabytes are downloaded.",
        "Take the commit before the replacement, or ask the owner to push again with eaglekit.",
    ),
    Code(
        "pull-bytes-wrong",
        ERROR,
        "A file has other bytes than its manifest says",
        "The digest of the bytes as they lie here is not the one of the manifest. A damaged disk, cache or proxy does that as well as a person. The client of the Hub compares sizes and not digests, so that it would hand out such a file, and keep it in its cache.",
        "Replace the copy in the cache with the command in the hint. When it is wrong again, a proxy or mirror changes it, or the Hub's copy is damaged.",
        (DOWNLOAD,),
    ),
    Code(
        "pull-pickle",
        ERROR,
        "The manifest lists a pickle",
        "Loading a pickle runs whatever its author put into it. eaglekit publishes weights as safetensors only, so a manifest with a pickle was not made by it.",
        "Ask the owner for safetensors.",
        (PICKLE,),
    ),
    Code(
        "pull-not-covered",
        WARNING,
        "Files that the manifest does not list were not taken",
        "What the manifest does not list was added by other means, and nothing says what it should be. It stays on the Hub; README.md and model.sig are taken, compared with the name that the commit has for them.",
        "If the files belong to the drafter, ask the owner to push them with eaglekit.",
    ),
)
