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
    Code(
        "verify-report-absent",
        ERROR,
        "There is no report to verify",
        "What a published drafter claims stands in report.json: each figure, and how it was made. Without it there is a card at most, and a number without its protocol cannot be repeated.",
        "Ask the owner to push with eaglekit, or measure it yourself with `eaglekit validate`.",
    ),
    Code(
        "verify-report-unusable",
        ERROR,
        "The report does not say how to repeat it",
        "A report names its settings, its texts, its target and its arithmetic. A part that is missing, that this version does not know, or that asks for more than the command line would take, is refused: leaving it out would repeat something else.",
        "Use the version of eaglekit that wrote the report; it stands in result.tool.",
    ),
    Code(
        "verify-drafter-other",
        ERROR,
        "The report is about other files",
        "The report holds the SHA-256 of every file that was judged. One of these files is another one, so the figures are not about this drafter: weights were replaced after the validation, or the report was copied from elsewhere.",
        "Take a commit in which both belong together, or ask the owner to validate and push again.",
    ),
    Code(
        "verify-baseline-other",
        ERROR,
        "The baseline is not the one of the report",
        "Figures beside a baseline are about exactly that baseline; its files are named in the report by their SHA-256.",
        "Give the drafter that the report was made beside.",
    ),
    Code(
        "verify-prompts-other",
        ERROR,
        "The prompts are not the ones of the report",
        "Acceptance is a property of drafter, target and texts. With other texts another figure is right, and comparing it with the claim would mean nothing.",
        "Get the prompt file with the SHA-256 that the report names; a push with `--with-prompts` puts it beside the weights.",
    ),
    Code(
        "verify-capture-other",
        ERROR,
        "The capture is not the one of the report",
        "The report was made with a file of captured target states, which it names by its SHA-256.",
        "Get that file from the publisher.",
    ),
    Code(
        "verify-target-other",
        ERROR,
        "The target is not the one of the report",
        "The report names its target by a digest of config, headers and sizes. Another quantisation, another revision or another model has another one, and drafts for it are accepted more or less often.",
        "Give the repository and commit that the report names, or the very folder.",
    ),
    Code(
        "verify-texts-other",
        ERROR,
        "The same prompts became other texts",
        "Prompts become tokens through the target's tokenizer and chat template. Here they came out otherwise than for the report, so another thing was measured. When the target answered itself (`--generate`) this is a note only: one near tie between two tokens changes the rest of an answer.",
        "Compare the versions of transformers, and the tokenizer files beside the target's weights.",
    ),
    Code(
        "verify-claim-fails",
        ERROR,
        "A claim does not hold",
        "The very files were measured again, by the protocol that the report names, and this claim did not come out: not to a hundredth, and not within its interval, or its interval is not the one that these texts give.",
        "Do not plan with the figure. The table shows what came out; ask the publisher for the report's origin.",
    ),
    Code(
        "verify-claim-moved",
        WARNING,
        "A claim holds, but the same run gave another number",
        "With the same files, texts, arithmetic and versions the figure should come out the same up to rounding. It lies within its interval and is another one nevertheless.",
        "A graphics card of another kind can do that in bfloat16. Otherwise the number was changed by hand: ask the publisher.",
    ),
    Code(
        "verify-not-repeated",
        WARNING,
        "Claims were not repeated here",
        "Something that the claims stand on is not at hand: a target, texts, a baseline, or the packages that compute. They are neither confirmed nor refuted.",
        "Give what is named, then run the command again.",
    ),
    Code(
        "verify-nothing-repeated",
        ERROR,
        "No figure could be repeated",
        "Nothing was measured, so that nothing is confirmed. This is an error because a script that asks whether claims hold must not read silence as yes.",
        "Install eaglekit[validate], and give target and texts where the report does not say where they are.",
    ),
    Code(
        "verify-read-otherwise",
        ERROR,
        "The figures are about another reading of the file",
        "The report was made with options that contradict what the file says: other layers, another feedback. Engines read the file, so that they do not serve the drafter that was measured.",
        "Ask the owner to convert with those options, which writes them into the file, and to validate the result.",
    ),
    Code(
        "verify-arithmetic-other",
        NOTE,
        "It is computed otherwise here",
        "The report was made on another kind of device or in another dtype. Rounding turns near ties between tokens, so figures move a little; the intervals say how far that matters.",
        "Choose with --gpu, --device and --dtype to come nearer to the report.",
    ),
    Code(
        "verify-card-differs",
        ERROR,
        "The card says something else than its report",
        "The card's front matter is made from the report, digit for digit, and names it by SHA-256. Here they differ: a number, an interval, the target or the report itself. People read the card, and the Hub lists its numbers.",
        "Believe the report, whose claims are repeated, and tell the owner.",
        ("https://huggingface.co/docs/hub/model-cards",),
    ),
    Code(
        "verify-card-edited",
        ERROR,
        "The text of the card is not what its report makes it",
        "People read the tables of a card, and neither its front matter nor report.json. What stands between the markers is written from the report and the files beside it, always the same by the same version of eaglekit; so it is written again and compared. A line that is another was changed by hand, in a number or in a sentence.",
        "Believe report.json. If the card is yours: push again, which writes the text anew; your own words belong above or below the markers.",
    ),
    Code(
        "verify-card-unmeasured",
        WARNING,
        "The card claims what its report does not measure",
        "A number stands in the card's model-index for which the report has no figure. It may be somebody's own measurement; nothing here can repeat it.",
        "Ask the owner how it was measured.",
    ),
)
