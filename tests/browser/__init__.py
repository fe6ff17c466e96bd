"""The HTML report in a real Chromium, on a phone, a desktop and paper: `make test-browser`."""
