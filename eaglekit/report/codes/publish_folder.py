"""Codes about a folder that is to be published: what may leave this machine, and what a report must prove first."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR = Severity.ERROR

HUB_SECRETS = "https://huggingface.co/docs/hub/security-secrets"
HUB_PICKLES = "https://huggingface.co/docs/hub/security-pickle"
DYNAMIC_CODE = "https://huggingface.co/docs/transformers/custom_models"

CODES: tuple[Code, ...] = (
    Code(
        "manifest-missing", ERROR, "the folder has no manifest",
        "SHA256SUMS was written while the weights were, over the bytes as they reached the disk. Without it nobody can "
        "tell whether the folder is still the one that was converted.",
        "Convert again, without --no-manifest.",
    ),
    Code(
        "manifest-invalid", ERROR, "the manifest cannot be read",
        "Every line of SHA256SUMS is a size or a digest. One that is neither, or a file that is named twice, would let two "
        "readers check two different things.",
        "Convert again; a manifest is not edited by hand.",
    ),
    Code(
        "manifest-file-missing", ERROR, "a file of the manifest is gone",
        "The folder is only a part of what was converted: a download or a copy that was cut short, or a file that somebody "
        "removed.",
        "Get the folder again, or convert again.",
    ),
    Code(
        "manifest-mismatch", ERROR, "a file is not the one of the manifest",
        "The bytes were changed after the conversion. An edited config is the usual cause, and the most dangerous one: the "
        "provenance says that the function was preserved, and one flag makes another function of it.",
        "Convert again, with --set for what should be different, then validate again.",
    ),
    Code(
        "manifest-unlisted", ERROR, "the manifest does not know a file of the drafter",
        "Config, weights, index and provenance come from one conversion, and its manifest lists them all. One more was put "
        "there later, and readers would load it with the rest.",
        "Remove it, or convert again.",
    ),
    Code(
        "publish-not-allowed", ERROR, "the folder holds a file that is not published",
        "What is published is a list of what belongs to a drafter: config, safetensors, index, tokenizer, licence, "
        "provenance, and what the push adds. Anything else stays here: pickles run code when they are loaded, logs and "
        "hidden files tell about the machine, optimizer states are of no use to who serves. A file that is left out "
        "silently would be missed, or sent the next time by another tool; so it is told.",
        "Move it out of the folder.", (HUB_PICKLES,),
    ),
    Code(
        "publish-subfolder", ERROR, "the folder holds a folder",
        "A drafter is one flat folder. Engines do not look below it, and a folder inside is the state of a training run, a "
        "cache or a repository.",
        "Move it out of the folder.",
    ),
    Code(
        "publish-name", ERROR, "a file has a name that not every machine can hold",
        "The Hub is a git repository, and people check it out on every kind of disk. Control characters, spaces at the end, "
        "letters outside ASCII and characters that one system reserves make a file that some of them cannot get.",
        "Rename it; for a shard, convert again.",
    ),
    Code(
        "publish-name-clash", ERROR, "two names differ only in upper and lower case, or in how accents are spelled",
        "On macOS or Windows they are one file: who downloads the repository there gets one of the two, and no error.",
        "Rename or remove one of them.",
    ),
    Code(
        "publish-not-text", ERROR, "a file that should be text is not",
        "Licences, templates and configs are UTF-8 text. Bytes that are none may be anything, a pickle under an innocent "
        "name among it, and cannot be searched for secrets.",
        "Save it as UTF-8, or remove it.", (HUB_PICKLES,),
    ),
    Code(
        "provenance-missing", ERROR, "the folder does not say where it comes from",
        "provenance.json names the source by its digest, the plan, and the tool. The card tells it on, and the digests let "
        "anybody repeat the conversion.",
        "Publish the folder that eaglekit convert wrote; convert the checkpoint first when it comes from elsewhere.",
    ),
    Code(
        "provenance-invalid", ERROR, "provenance.json is not one that eaglekit wrote",
        "The card is made from it. It is checked against its schema, so that nothing is printed there that it does not hold.",
        "Convert again.",
    ),
    Code(
        "publish-config-invalid", ERROR, "the config breaks the rules of its layout",
        "provenance.json says in which layout the folder was written, and every layout has a schema: typed keys, and no "
        "others. A key that was added or changed by hand is read by some engines and ignored by the rest.",
        "Convert again, with --set for what should be different.",
    ),
    Code(
        "auto-map-missing", ERROR, "the config names Python code",
        "auto_map tells transformers which file of the repository to run. No engine needs one for an EAGLE drafter, code is "
        "not published here, and a reader who trusts it gets an error for a missing file, or somebody else's program.",
        "Convert the checkpoint again: the layouts have no auto_map.", (DYNAMIC_CODE,),
    ),
    Code(
        "secret-found", ERROR, "a file holds a secret",
        "A token that was public for a minute is known: robots read every new repository, and the Hub's own scan comes after "
        "the upload. Trainers write tokens into configs and into the metadata of weights; people paste them into cards.",
        "Revoke it where it was issued, remove it from the file, and make the manifest anew by converting again.",
        (HUB_SECRETS,),
    ),
    Code(
        "local-path-found", ERROR, "a file names a place on a machine",
        "A path means nothing to anybody else, tells how the machine is laid out and often who works there, and a target that "
        "is named by one cannot be found by the engines that look it up.",
        "Name the target by its Hub id: eaglekit convert ... --set target_name=ORG/NAME. In text, write the name alone.",
        ("https://huggingface.co/docs/hub/model-cards#specifying-a-base-model",),
    ),
    Code(
        "report-missing", ERROR, "there is no validation report",
        "Nothing is published that was not measured. The report is what the card says, and what others repeat.",
        "eaglekit validate DRAFTER --target TARGET --prompts FILE -o report.json, then push with --report report.json.",
    ),
    Code(
        "report-invalid", ERROR, "the report cannot be read",
        "It is published as evidence, and the card prints it. So it must be exactly what eaglekit validate writes: schema, "
        "numbers that are numbers, and no statement that contradicts another.",
        "Validate again, with -o report.json.",
    ),
    Code(
        "report-not-validation", ERROR, "the report is of another command",
        "Every command can write a report. Only validate looks at the numbers and measures what the drafter is worth.",
        "eaglekit validate DRAFTER --target TARGET --prompts FILE -o report.json",
    ),
    Code(
        "report-not-passing", ERROR, "the drafter did not pass its validation",
        "The stages structure, numbers and behaviour must have run, and found no error. There is no way around it: a drafter "
        "that fails serves slower than none, and nobody sees why.",
        "Read the errors in the report, mend them, and validate again.",
    ),
    Code(
        "report-of-other-files", ERROR, "the report is about other files",
        "A report is bound to the SHA-256 of every file that was judged. A config that was edited afterwards, or weights of "
        "another training step, are another drafter: the figures are not its own.",
        "Validate this folder.",
    ),
    Code(
        "report-target-missing", ERROR, "the report does not say for which target the drafter was measured",
        "A drafter is worth something beside its own target only. A capture can be measured without one, and then nothing "
        "names it.",
        "Validate with --target.",
    ),
    Code(
        "report-unmeasured", ERROR, "the report holds no acceptance length",
        "It is the figure that people look for, and the one thing that no file can tell.",
        "Validate with --prompts or --capture.",
    ),
    Code(
        "report-overruled", ERROR, "the report was measured against what the file says",
        "An option of validate stood against the file, or left a part of it out. Engines read the file and nothing else, so "
        "they would run another function than the one that was measured.",
        "Convert with the same option, so that the file says it, and validate the result without it.",
    ),
)  # fmt: skip
