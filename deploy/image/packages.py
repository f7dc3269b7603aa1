"""Which Debian package a file of the target machine (target.py) comes from, and what that package says of itself."""

import functools
import pathlib
import subprocess

import target


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names_of(path: str) -> tuple[str, ...]:
    """dpkg knows a file by the name under which it was installed, with /lib apart from /usr/lib though
    the one is a link to the other."""
    real = target.real(path)
    return real, real.removeprefix("/usr"), path


def packages_of(paths: list[str]) -> dict[str, str]:
    """The package that installed each path, as NAME or NAME:ARCHITECTURE; LookupError: none did."""
    names = [name for path in paths for name in names_of(path)]
    owners: dict[str, str] = {}
    for said in target.ask_dpkg("--search", *names):
        lines = [line.rsplit(": ", 1) for line in said.splitlines() if not line.startswith("diversion ")]
        owners = {name: package.split(",")[0].strip() for package, name in lines} | owners
    found = {path: [owners[name] for name in names_of(path) if name in owners] for path in paths}
    for path, packages in found.items():
        if not packages:
            raise LookupError(f"{path} comes from no Debian package: its licence and version are unknown")
    return {path: packages[0] for path, packages in found.items()}


@functools.cache
def facts_of(package: str) -> dict[str, str]:
    """Name, version, architecture and source package."""
    fields = ("Package", "Version", "Architecture", "source:Package", "source:Version")
    said = target.ask_dpkg("--show", "--showformat", "\n".join(f"${{{f}}}" for f in fields), package)
    if not said:
        raise LookupError(f"dpkg does not know {package}")
    return dict(zip(fields, said[0].split("\n")))


def installed(name: str) -> str | None:
    """The package of this name as the others are named; None: it is not installed."""
    said = subprocess.run(["dpkg-query", "--show", "--showformat", "${db:Status-Abbrev} ${binary:Package}\n", name],
                          capture_output=True, text=True).stdout.split("\n")
    return next((line.split()[1] for line in said if line.startswith("ii")), None)


def purl_of(package: str) -> str:
    """The package's name, version and architecture as scanners write them."""
    facts = facts_of(package)
    version = facts["Version"].replace("+", "%2B").replace(":", "%3A")
    return f"pkg:deb/debian/{facts['Package'].replace('+', '%2B')}@{version}?arch={facts['Architecture']}"


def copyright_of(package: str) -> pathlib.Path:
    """Debian's copyright file, which has to go along with the package's files."""
    path = pathlib.Path("/usr/share/doc", facts_of(package)["Package"], "copyright")
    return pathlib.Path(target.file(target.real(str(path))))
