"""What all tests stand on."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with SIGINT ignored, and every child would inherit that: then nothing
# could be stopped by Ctrl-C, which is what some tests are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
