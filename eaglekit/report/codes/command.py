"""Codes about the command line itself."""

from __future__ import annotations

from eaglekit.report.model import Code, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES: tuple[Code, ...] = (
    Code("usage", ERROR, "the command line was not understood", "An option or argument is wrong; nothing was done.",
         "See eaglekit COMMAND --help."),
    Code("code-unknown", ERROR, "there is no finding code of that name", "Codes are a closed list.",
         "eaglekit explain without a code lists them."),
    Code("page-extras-missing", ERROR, "a package is missing that the HTML report needs",
         "The page is made with jinja2 and its charts with matplotlib, which a plain installation leaves out.",
         "pip install 'eaglekit[validate]'; the JSON report needs neither."),
    Code("system-error", ERROR, "the operating system refused",
         "A file, the disk or the memory was not to be had in a way that has no finding of its own.",
         "EAGLEKIT_DEBUG=1 shows where it happened."),
)  # fmt: skip
