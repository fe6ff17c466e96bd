"""Codes raised while a model card is written or checked."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR = Severity.ERROR

CARDS = "https://huggingface.co/docs/hub/model-cards"
SPECIFICATION = "https://github.com/huggingface/hub-docs/blob/main/modelcard.md"
LICENCES = "https://huggingface.co/docs/hub/repositories-licenses"

CODES: tuple[Code, ...] = (
    Code(
        "card-front-matter", ERROR, "the front matter of a card cannot be used",
        "The lines between the two `---` at the top of a README.md are what the Hub lists, filters and links a model by. "
        "eaglekit edits them key by key and leaves the rest as it is, so it must understand them: one plain YAML mapping. "
        "References and tags are refused because no card needs them, and a few lines of them can fill a machine's memory "
        "or name a program to be run.",
        "Mend the lines that are named, or take the README.md away to begin a new one.",
        (CARDS,),
    ),
    Code(
        "card-metadata", ERROR, "a key of the front matter is missing, empty, or of the wrong kind",
        "The Hub checks a card when the commit arrives, which is after the weights were sent: a key that is null or a "
        "number where a text belongs turns gigabytes of upload into an error 400. A card without base_model or tags is "
        "taken, and then nobody finds the drafter below its target.",
        "Mend every key that is named; leave a key without a value out.",
        ("https://github.com/huggingface/huggingface_hub/issues/1927", SPECIFICATION),
    ),
    Code(
        "card-conflict", ERROR, "an existing card says something else",
        "Licence and target are a publisher's words. Where the README.md that is already there names another licence or "
        "another base model than the report and the options do, one of the two is wrong, and no program can know which. "
        "Cards that named another target than the one the drafter was trained for have been published more than once.",
        "Decide which is right: change the line in README.md, or the option.",
        (SPECIFICATION,),
    ),
    Code(
        "card-markers", ERROR, "there is no place in the README.md that may be written to",
        "What people wrote is never written over. The card goes between the lines `<!-- eaglekit: begin -->` and "
        "`<!-- eaglekit: end -->`, which must stand alone on their lines, once each, in this order, and outside blocks of "
        "code.",
        "Put both lines where the card is to stand; everything outside them stays as it is, byte for byte.",
        ("https://github.com/vllm-project/speculators/issues/1055",),
    ),
    Code(
        "licence-missing", ERROR, "nobody has said under which licence the drafter is published",
        "A drafter learned from its target's answers, and often holds a copy of its embedding; the target's licence may "
        "bind whoever publishes it. Without a licence nobody may use it. Guessing one would be a statement of law made by "
        "a program.",
        "Add --license ID, or put `license:` into the front matter of README.md.",
        (LICENCES,),
    ),
    Code(
        "licence-unknown", ERROR, "the Hub knows no licence by this id",
        "The Hub knows licences by its own ids: apache-2.0, not Apache 2.0 or Apache-2. Anything else is refused when the "
        "commit arrives, or shown as no licence at all.",
        "Use an id of the Hub's list; for a licence that is not on it, --license other with a name and a link.",
        (LICENCES,),
    ),
    Code(
        "licence-incomplete", ERROR, "a licence of one's own needs a name and a link, and a known one needs neither",
        "`other` alone tells nobody what is allowed. The Hub shows the name, and links to the text: a URL, or a file of "
        "the repository such as LICENSE.",
        "Add --license-name and --license-link to `other`; leave them out otherwise.",
        (LICENCES, SPECIFICATION),
    ),
    Code(
        "base-model-missing", ERROR, "nobody has said where on the Hub the target is",
        "A drafter is only right for one target, and for the weights it was trained on: the card names the repository and "
        "the commit. A report made with a folder knows that folder's digest, not where it came from.",
        "Add --base-model ORG/NAME@COMMIT; or validate with the target's Hub id, and the report knows it.",
        ("https://github.com/oumi-ai/oumi/pull/2523",),
    ),
    Code(
        "base-model-invalid", ERROR, "this names no commit of a repository",
        "A branch moves: who downloads `main` a month later gets another target than the one the drafter was measured "
        "with. Only a full commit stays what it is.",
        "Write ORG/NAME@COMMIT, with the 40 digits of the commit.",
        ("https://github.com/oumi-ai/oumi/pull/2523",),
    ),
    Code(
        "base-model-contradicts", ERROR, "the report was made with another target",
        "The figures of a card hold for the target they were measured with. Naming another one would be a claim that "
        "nobody tested.",
        "Leave --base-model out, or validate with the target that is meant.",
        ("https://github.com/vllm-project/speculators/issues/1055",),
    ),
    Code(
        "card-figure-unavailable", ERROR, "the figure cannot be drawn here",
        "drift.png is drawn from the report with matplotlib, which comes with the packages for validating. A machine that "
        "only publishes may not have them.",
        "pip install 'eaglekit[validate]', or leave the figure out with --no-figure.",
    ),
)  # fmt: skip
"""What can be wrong with a card, and with what goes into it."""
