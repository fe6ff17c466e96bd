"""Codes about deciding, saving and carrying out a conversion."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code(
        "target-needed", ERROR, "a tensor must be copied from the target",
        "Some layouts always hold the embedding or the head. It is copied from the target's own bytes and never "
        "invented.", "Add --target.",
    ),
    Code(
        "nothing-to-copy", ERROR, "the drafter already has the tensor that was to be copied",
        "Replacing a trained embedding or head by the target's would be another function.",
        "Leave the option out.",
    ),
    Code(
        "embedding-replaced", WARNING, "the drafter runs with another embedding than its own",
        "Leaving an embedding out makes engines share the target's. When the two are not the same table, the drafter "
        "computes something else: right text, and perhaps less acceptance.",
        "Prove it a copy with --target, or measure.",
    ),
    Code(
        "config-local-path", NOTE, "the config names a place of this machine",
        "The source names its target by a folder, and the converted config repeats it. It works here, means nothing "
        "elsewhere and tells how this machine is laid out; `eaglekit push` refuses it, after the validation, whose report "
        "is of the files as they are: mended late, the drafter is validated twice.",
        "Name the target by its Hub id: eaglekit convert SRC DST --set target_name=ORG/NAME.",
    ),
    Code(
        "dtype-cast", WARNING, "values were rounded",
        "A cast to fewer bits rounds every weight. The provenance says so.", "Leave --dtype out for the same bytes.",
    ),
    Code(
        "embedding-needed", ERROR, "a drafter of another width than its target needs its own embedding",
        "Engines share the target's embedding with drafters that have none. With another width the first step crashes.",
        "Get the file with its embedding from the trainer.",
    ),
    Code(
        "embedding-lost", ERROR, "the layout would lose a trained embedding",
        "The output would run with the target's embedding instead of the drafter's own: another function, unless the "
        "two are equal.", "Prove it a copy with --target, or accept the change with --embedding drop.",
    ),
    Code(
        "widths-differ", ERROR, "the target's tensor has another width",
        "A copied tensor must fit the drafter's hidden size.", "Get the drafter's own tensor from the trainer.",
    ),
    Code(
        "source-changed", ERROR, "the source has changed since the plan was made",
        "A plan names byte ranges of files as they were. Applying it to other files would write a mixture.",
        "Make a new plan.",
    ),
    Code(
        "plan-invalid", ERROR, "the plan file is not one that can be applied",
        "A plan is checked against its schema and against the source before anything is written.",
        "Make a new plan with eaglekit convert -o plan.json.",
    ),
    Code(
        "cast-overflow", ERROR, "values overflow in the dtype that was asked for",
        "F16 ends at 65504; BF16 and F32 reach far beyond. An overflowed weight is infinite, and one infinite weight "
        "makes every logit NaN.", "Keep the dtype, cast to bfloat16 or float32, or say --force-overflow.",
    ),
    Code(
        "destination-inside-source", ERROR, "source and destination overlap",
        "The source is never touched, and a folder cannot appear whole inside or above itself.",
        "Choose a destination beside the source.",
    ),
    Code(
        "shard-size", ERROR, "the shard size cannot be read", "Sizes are numbers with an optional unit.",
        "Write 500MB, 5GB or a number of bytes.",
    ),
    Code(
        "diff-tensor", ERROR, "a tensor differs between two drafters",
        "The same role holds other numbers, or exists in one of them only.", "Find out which file is meant.",
    ),
    Code(
        "diff-shared", WARNING, "one drafter has a tensor that the other shares with the target",
        "The two compute the same exactly when the tensor equals the target's.", "Add --target to compare it.",
    ),
    Code(
        "diff-meaning", ERROR, "a fact of the function differs between two drafters",
        "The two configs, each in its own spelling, do not mean the same.", "Find out which file is meant.",
    ),
    Code(
        "output-invalid", ERROR, "the config to be written does not satisfy its own schema",
        "Every config is checked before it is written. This is a mistake in eaglekit's tables, not in your file.",
        "Report it with the output of --json.",
    ),
)  # fmt: skip
