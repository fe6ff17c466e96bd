"""What all tests stand on."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with SIGINT ignored, nohup ignores SIGHUP, and every child would inherit
# that: then nothing could be stopped by them, which is what some tests are about.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)
