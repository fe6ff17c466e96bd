"""Serve the Hub that is kept in a folder until interrupted, and print the environment that leads to it."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path
from threading import Event

from eaglekit.hub.loopback.server import Hub

STATE = "state.json"
VISITOR = "loopback"
"""Whoever the printed token belongs to; one is enough, however often a root is served."""


def main() -> None:
    """Make or continue the Hub of the command line, publish the folder if there is one, and serve."""
    parser = argparse.ArgumentParser(prog="python -m eaglekit.hub.loopback", description=__doc__)
    parser.add_argument(
        "root", metavar="DIR", type=Path, help="a folder that a Hub was kept in, or with ORG/NAME FOLDER a new one"
    )
    parser.add_argument("repo", metavar="ORG/NAME", nargs="?", help="publish under this name first ...")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, help="... what is in this folder")
    parser.add_argument("--private", action="store_true", help="visible only with the token that is printed")
    arguments = parser.parse_args()
    if (arguments.repo is None) != (arguments.folder is None):
        parser.error("ORG/NAME and FOLDER go together")
    kept = _kept(arguments.root)
    if kept is None and (reason := _unfit(arguments.root, arguments.folder)):
        parser.exit(1, f"{parser.prog}: {reason}\n")
    with Hub(kept or arguments.root, xet=False) as hub:
        if arguments.repo is not None:
            if arguments.repo not in hub.storage.repositories:
                hub.storage.create_repository(arguments.repo, private=arguments.private)
            hub.publish(arguments.repo, arguments.folder)
        token = f"hf_{secrets.token_hex(16)}"
        organisations = {id.split("/")[0] for id in hub.storage.repositories}
        hub.storage.accounts[:] = [account for account in hub.storage.accounts if account.name != VISITOR]
        hub.account(VISITOR, token, organisations=sorted(organisations))
        environment = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1"}
        sys.stdout.writelines(f"export {name}={value}\n" for name, value in environment.items())
        for repository in hub.storage.repositories.values():
            for name, oid in repository.branches.items():
                sys.stdout.write(f"# {repository.id} {name} {oid}\n")
        if not hub.storage.repositories:
            sys.stdout.write("# This Hub holds no repository.\n")
        sys.stdout.write("# Paste the export lines into another terminal; this one serves until Ctrl-C stops it.\n")
        sys.stdout.write(f"# Afterwards, in the other one: unset {' '.join(environment)}\n")
        sys.stdout.flush()
        Event().wait()


def _kept(root: Path) -> Path | None:
    """The folder below `root` that a Hub was kept in; a rehearsal keeps its own in DIR/hub, with its log beside it."""
    return next((place for place in (root / "hub", root) if (place / STATE).is_file()), None)


def _unfit(root: Path, content: Path | None) -> str:
    """Why no new Hub is begun in `root`; empty when one is."""
    if root.exists() and not root.is_dir():
        return f"{root} is a file; give the folder that a rehearsal left"
    if root.is_dir() and any(root.iterdir()):
        return f"{root} holds something else than a Hub; give the folder that a rehearsal left"
    if content is None:
        there = "is empty" if root.is_dir() else "does not exist"
        return f"{root} {there}: nothing was rehearsed there; to begin a Hub, say what it holds: DIR ORG/NAME FOLDER"
    return "" if content.is_dir() else f"{content} is no folder to publish"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
