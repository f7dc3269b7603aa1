"""What deploy/kubernetes/README.md says of the mounts."""

import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[2] / "deploy/kubernetes/README.md"
# In the order of the manifest, those that the tests' manifests have.
CONTAINERS = ("privd-hardware", "privd-gate", "plugind", "netd")
# What the table says for several of them.
WORDS = {"all of privd's": CONTAINERS[:2], "all others": tuple(name for name in CONTAINERS if name != "plugind")}
HEAD = "| mount | in | access | why |"


def said(with_cdi: bool = False) -> dict[tuple[str, str], bool]:
    """(container, path in it) to whether it is writable there."""
    rows = README.read_text().partition(HEAD)[2].strip().splitlines()[1:]
    table, path = {}, ""
    for row in rows:
        if not row.startswith("|"):
            break
        mount, containers, access, _ = (cell.strip() for cell in row.strip("|").split("|"))
        path = (re.findall(r"`([^`]*)`", mount) or [path])[-1]
        word = re.match(r"writable|read-only", access)
        if word is None:
            raise ValueError(f"{README}: access of {path} is neither writable nor read-only: {access}")
        only_with = re.search(r"only with (.*)", access)
        if only_with is None or (with_cdi and only_with[1] == "CDI"):
            named = [one for container in containers.split(", ") for one in WORDS.get(container, [container])]
            table |= {(container, path): word[0] == "writable" for container in named if container in CONTAINERS}
    return table
