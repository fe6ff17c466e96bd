"""A `Report` as one page that needs nothing else, and its charts as images.

Must never load anything from outside the page, run a script, or let what a checkpoint says become markup.
"""

from eaglekit.report.html.drawing import draw, draw_png
from eaglekit.report.html.page import render

__all__ = ["draw", "draw_png", "render"]
