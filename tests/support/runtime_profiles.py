"""The default seccomp profiles of container runtimes that Debian's packages carry as data: Docker's, which containerd's
was written from, and Podman's. containerd's own is code, and CRI-O's is in no package."""

import dataclasses
import json
import os
import pathlib
import subprocess

FETCH = pathlib.Path(__file__).resolve().parent / "fetch_profiles.sh"


class Unavailable(Exception):
    """With the reason."""


@dataclasses.dataclass(frozen=True)
class RuntimeProfile:
    runtime: str
    version: str  # of Debian's package
    profile: dict

    def __str__(self) -> str:
        return f"{self.runtime}'s default profile ({self.version})"


def cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "vfiogate/profiles"


def fetched() -> dict[str, RuntimeProfile]:
    """By runtime. The first time it takes a network, where the packages are not installed."""
    told = subprocess.run([FETCH, cache()], capture_output=True, text=True)
    if told.returncode != 0:
        raise Unavailable(told.stderr.strip())
    found = {}
    for line in told.stdout.splitlines():
        runtime, version, file = line.split(" ", 2)
        found[runtime] = RuntimeProfile(runtime, version, json.loads(pathlib.Path(file).read_text()))
    return found
