"""Which Debian package a file of this machine comes from, and what that package says of itself."""

import functools
import os
import pathlib
import subprocess


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@functools.cache
def package_of(path: str) -> str:
    """The package that installed `path`, as NAME or NAME:ARCHITECTURE; LookupError: none did.

    dpkg knows a file by the name under which it was installed, with /lib apart from /usr/lib though
    the one is a link to the other."""
    real = os.path.realpath(path)
    for name in (real, real.removeprefix("/usr"), path):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.splitlines()[0].rsplit(": ", 1)[0].split(",")[0].strip()
    raise LookupError(f"{path} comes from no Debian package: its licence and version are unknown")


@functools.cache
def facts_of(package: str) -> dict[str, str]:
    """Name, version, architecture and source package."""
    fields = ("Package", "Version", "Architecture", "source:Package", "source:Version")
    text = run("dpkg-query", "--show", "--showformat", "\n".join(f"${{{f}}}" for f in fields), package)
    return dict(zip(fields, text.split("\n")))


def copyright_of(package: str) -> pathlib.Path:
    """Debian's copyright file, which has to go along with the package's files."""
    path = pathlib.Path("/usr/share/doc", facts_of(package)["Package"], "copyright")
    return pathlib.Path(os.path.realpath(path))
