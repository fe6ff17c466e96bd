"""Codes about the command that serves a drafter."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR = Severity.ERROR

CODES: tuple[Code, ...] = (
    Code(
        "recipe-target-unknown",
        ERROR,
        "Nothing says which target the drafter is for",
        "A drafter is served together with the model it was trained for, and the command names both. Speculators "
        "configs name their verifier; most other files name nobody, and a placeholder in a command is pasted sooner "
        "or later.",
        "Give --target PATH_OR_ID, or --set target_name=ORG/NAME when only the name is to be written.",
    ),
    Code(
        "recipe-engine-unknown",
        ERROR,
        "No command is known for this engine",
        "Commands are written for servers whose options have been read in their source. Other engines that eaglekit "
        "judges are converters, trainers' own readers, or servers whose options nobody has read.",
        "`eaglekit inspect` tells what every known engine makes of the file.",
    ),
    Code(
        "recipe-withheld",
        ERROR,
        "A server would not run this file as it was trained",
        "A drafter that a server misreads costs time in every round and never says so: the text stays right. So a "
        "command is printed only where the newest known version reads the file, and nothing about it is open.",
        "Convert it for the server: `eaglekit convert SRC DST --for ENGINE` writes what it reads, or says why it "
        "cannot. Where the reason is that something is not known, name the target.",
    ),
    Code(
        "recipe-name-unprintable",
        ERROR,
        "A name cannot stand in a command",
        "A command is read on a terminal and pasted into a shell. A name with control characters, line breaks or "
        "invisible marks shows there as something else than it is.",
        "Rename the folder, or give the id that it will be published under: --as ORG/NAME.",
    ),
)
