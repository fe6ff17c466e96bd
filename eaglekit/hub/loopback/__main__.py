"""Serve one folder as one repository until interrupted."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from threading import Event

from eaglekit.hub.loopback.server import Hub

TOKEN = "hf_loopback"  # noqa: S105 - opens nothing but this server


def main() -> None:
    """Publish the folder of the command line and serve it until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m eaglekit.hub.loopback", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("repo", metavar="ORG/NAME")
    parser.add_argument("--private", action="store_true", help="visible only with the token that is printed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root, Hub(Path(root) / "hub") as hub:
        hub.account("tester", TOKEN, organisations=(arguments.repo.split("/")[0],))
        hub.storage.create_repository(arguments.repo, private=arguments.private)
        commit = hub.publish(arguments.repo, arguments.folder)
        environment = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1"}
        sys.stdout.writelines(f"export {name}={value}\n" for name, value in environment.items())
        sys.stdout.write(f"# {arguments.repo} is at commit {commit.oid}\n")
        sys.stdout.flush()
        Event().wait()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
