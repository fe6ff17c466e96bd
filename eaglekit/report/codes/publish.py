"""Codes of publishing's remote half: what the Hub says, what is there already, and what came out of a push."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
TOKENS = "https://huggingface.co/docs/hub/security-tokens"
COMMITS = "huggingface_hub, HfApi.create_commit: parent_commit"

CODES: tuple[Code, ...] = (
    Code(
        "push-no-token", ERROR, "There is no token for the Hub",
        "Publishing needs an account. eaglekit takes the token where all Hugging Face tools take it, from HF_TOKEN or from what `hf auth login` saved, and never from the command line, where every process of the machine could read it.",
        "Run `hf auth login`, or set HF_TOKEN in the environment.",
        (TOKENS,),
    ),
    Code(
        "push-not-allowed", ERROR, "The account may not do this in that repository",
        "The token was accepted and does not reach so far: a read token, a fine-grained token for another repository, or an organisation the account only reads. The Hub's own words for it are often `403 Forbidden`, without whose token it was or where that token may write, so these are named here. The token never is.",
        "Make a token that may write to that repository, correct the name of the organisation, or propose the change with --create-pr, for which reading suffices.",
        (TOKENS, "https://github.com/huggingface/huggingface_hub/issues/2002", "https://github.com/huggingface/huggingface_hub/issues/2955"),
    ),
    Code(
        "push-repository-absent", ERROR, "There is no repository to propose a change to",
        "A pull request is opened against something that exists. A repository that this account cannot see looks the same as one that does not exist.",
        "Check the spelling, or push without --create-pr, which makes the repository.",
    ),
    Code(
        "push-repository-renamed", ERROR, "The repository has another name now",
        "The Hub redirects old names. The card, its commands and the links would keep the old one, and somebody else may take it one day.",
        "Push to the present name.",
    ),
    Code(
        "push-revision-unfit", ERROR, "The revision is nothing one can commit to",
        "Commits go onto a branch. A tag or a commit stands still by its nature; a branch to propose against must exist.",
        "Give --revision the name of a branch; one that does not exist is made, and the plan says so.",
        ("https://github.com/huggingface/huggingface_hub/issues/2602",),
    ),
    Code(
        "push-tag-taken", ERROR, "The tag stands at another commit",
        "A tag that moves takes away the one thing people tag for. Whoever pinned it would get other weights under the same name.",
        "Choose a new tag, such as the next version.",
    ),
    Code(
        "push-would-overwrite", ERROR, "A file on the Hub has other content under the same name",
        "`hf upload` and most upload scripts replace files silently. Weights that change under a name make every measured figure of the old card wrong, and nobody is told. Nothing is replaced unasked.",
        "Look at what is there; then say --overwrite, push to another branch with --revision, or propose the change with --create-pr and --overwrite.",
    ),
    Code(
        "push-remote-weights", WARNING, "Other weights lie beside the ones that are pushed",
        "Nothing remote is ever deleted. Engines find weights by pattern: a second safetensors file, an index or a pickle beside yours may be loaded in addition or instead.",
        "Delete the old files on the Hub's page, or push to a branch or repository of its own.",
    ),
    Code(
        "push-visibility-kept", WARNING, "An existing repository keeps its visibility",
        "--public is about a new repository. Making one that exists public is a decision of its own, because of everything else that is in it.",
        "Change it on the settings page of the repository.",
    ),
    Code(
        "push-visibility-other", ERROR, "The new repository is not as private as it was asked to be",
        "A repository was to be made private, and the Hub says that it is public: a mirror that does not know the word, or a rule of the organisation. Bytes that anybody can fetch cannot be taken back, so nothing was sent.",
        "Make the repository private on its settings page and run the same command again, or say --public.",
    ),
    Code(
        "push-rival-commit", ERROR, "Somebody else changed the repository in the meantime",
        "The commit is locked to exactly the commit that the plan was made from. Another one came in between, so that the plan no longer says what would happen. Nothing was published; bytes that were sent are kept by the Hub under their digests and are not sent again.",
        "Run the same command again: it makes a new plan from what is there now.",
        (COMMITS,),
    ),
    Code(
        "push-not-recorded", ERROR, "The commit failed, and a look showed that it was not recorded",
        "After an error of the server or a connection that broke, a commit may be there or not. Sending it again would make a second one; so eaglekit looks, and here found the branch where it was. Nothing was published.",
        "Run the same command again. What was sent is not sent again.",
        ("https://github.com/huggingface/huggingface_hub/issues/3071",),
    ),
    Code(
        "push-outcome-unknown", ERROR, "Whether the commit was recorded could not be found out",
        "The commit failed in a way that says nothing, and the Hub did not answer the look afterwards either.",
        "Run the same command again when the Hub answers: it sees what is there, and sends only what is missing.",
    ),
    Code(
        "push-file-changed", ERROR, "A file changed between the plan and the commit",
        "The plan, the manifest and the report are about the bytes that were hashed. These are others. Nothing was published.",
        "Let whatever writes into the folder end, then run the command again.",
    ),
    Code(
        "push-ignored", ERROR, "The repository's own .gitignore leaves out a file of the push",
        "The Hub's client drops such files from a commit silently; the repository would be missing them while the push looks well. Nothing was published.",
        "Change the .gitignore of the repository.",
    ),
    Code(
        "push-card-refused", ERROR, "The Hub does not accept the front matter of the card",
        "The Hub checks README.md's metadata, with rules that may be newer than the ones here. It was asked before any weight was sent.",
        "Correct what is named; what comes from options is corrected there.",
        ("https://github.com/huggingface/huggingface_hub/issues/1927",),
    ),
    Code(
        "push-card-remark", WARNING, "The Hub remarks on the front matter of the card",
        "Not an error: the Hub accepts the card and shows the remark on its page.",
        "Read it; correct the front matter if it is right.",
    ),
    Code(
        "push-without-xet", ERROR, "This Hub does not store large files by xet",
        "huggingface_hub sends large files by the xet protocol whenever hf_xet is installed, without asking the server first. A mirror that only knows LFS answers with an error, and the client does not fall back.",
        "Set HF_HUB_DISABLE_XET=1 and run the command again.",
        ("https://github.com/huggingface/huggingface_hub/issues/4507",),
    ),
    Code(
        "push-upload-failed", ERROR, "A file could not be sent",
        "The transfer was tried several times. Nothing was published: bytes alone make no commit. What arrived whole is kept by the Hub and not sent again.",
        "Run the same command again.",
        ("https://github.com/huggingface/huggingface_hub/issues/3747",),
    ),
    Code(
        "push-refused", ERROR, "The Hub refuses",
        "The request was understood and declined: a quota, a rule of the organisation, something in the content. The Hub's own words are given. Nothing was published.",
        "Do what the Hub's words say.",
        ("https://github.com/huggingface/huggingface_hub/issues/3183",),
    ),
    Code(
        "push-remote-differs", ERROR, "What the Hub lists after the commit is not what was planned",
        "After the commit every file is compared with the digest of the plan: by SHA-256 for large files, by git's name for small ones, and the headers of the weights are read back. A difference means that people would load something else than was validated. The commit stands.",
        "Do not announce this commit. Look at it on the Hub, then run the command again, or revert the commit there.",
    ),
    Code(
        "push-unverified", ERROR, "The commit was recorded and could not be checked",
        "Publishing has two halves, the commit and the look at every byte after it. The second could not be done because the Hub did not answer.",
        "Run the same command again: it sends nothing that is there, and checks.",
    ),
    Code(
        "push-tag-failed", ERROR, "The commit is published, and the tag is not",
        "The tag comes last, when every file has been checked. It failed; the commit stays.",
        "Run the same command again: it sends no files, and sets the tag.",
    ),
    Code(
        "push-collection-unfit", ERROR, "The collection cannot be given the model",
        "A collection is added to at the very end, when every file has been checked. That it does not exist, has another name by now, or belongs to somebody else is therefore found out at the beginning: a fine-grained token may write files and still change no collection.",
        "Correct the name, make a token with the right `collection.write`, or leave --collection out.",
        (TOKENS, "https://huggingface.co/docs/hub/collections"),
    ),
    Code(
        "push-collection-failed", ERROR, "The commit is published, and the collection does not have the model",
        "The collection comes last, when every file has been checked. Adding to it failed; the commit stays.",
        "Run the same command again: it sends no files, and adds the model.",
    ),
    Code(
        "base-model-other", ERROR, "The stated target is not the one that was measured with",
        "A report that was made with a folder knows its target by a digest of config, headers and sizes. Where the Hub has the repository at the commit that --base-model names, the same digest is made of its files. Another one means that people would serve the drafter beside a model that nobody measured it with: the commit before a changed chat template, the unquantised original, or simply another repository.",
        "Name the commit whose files lie in the folder, or validate with that target.",
    ),
    Code(
        "base-model-unchecked", NOTE, "The stated target could not be compared with the Hub's files",
        "Repository and commit of the target are the publisher's word when the report was made with a folder. They are compared with the Hub where it can be asked: a repository may be gone, a gated one is closed, and a digest over a part of the shards is another digest.",
        "Nothing has to be done. The card says whose word it is, and `eaglekit verify` compares the target by its digest.",
    ),
    Code(
        "prompts-unfit", ERROR, "The texts are not the ones that the report was made on",
        "Texts are published so that others can measure the same figures again. Other texts, however similar, give other figures, and the card would look wrong.",
        "Give the very file that `eaglekit validate --prompts` read, or leave --with-prompts out.",
    ),
    Code(
        "push-rehearsal-folder", ERROR, "The folder of a rehearsal holds something else",
        "A rehearsal continues in a folder that an earlier rehearsal left, and in no other: files of yours would be mixed with its own.",
        "Name a folder that does not exist yet.",
    ),
)  # fmt: skip
