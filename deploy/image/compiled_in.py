"""What of other packages ends in the programs themselves: headers whose code the compiler put in, which the programs' debugging
information names, and the C library's and the compiler's start files, which every link takes."""

import pathlib
import re
import subprocess

import packages

# Linked into every program, without debugging information of their own.
START_FILES = ("Scrt1.o", "crti.o", "crtn.o", "libc_nonshared.a", "crtbeginS.o", "crtendS.o", "libgcc.a")
LINE = re.compile(r"^  (\d+)\t(?:(\d+)\t)?\((?:indirect line string|line string|string)[^)]*\): (.*)$")


def sources_of(program: pathlib.Path) -> set[str]:
    """The absolute paths of the sources that the program's lines of code come from. LookupError: it does not say."""
    command = ["readelf", "--debug-dump=rawline", str(program)]
    found: set[str] = set()
    directories: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
        for line in reader.stdout:
            if line.startswith(" The Directory Table"):
                directories = {}
            elif match := LINE.match(line):
                number, directory, name = match.groups()
                if directory is None:
                    directories[number] = name
                elif directories.get(directory, "").startswith("/"):
                    found.add(f"{directories[directory]}/{name}")
    if not found:
        raise LookupError(f"{program} has no debugging information: what was compiled into it is unknown")
    return found


def start_files() -> set[str]:
    said = {name: packages.run("gcc", f"-print-file-name={name}").strip() for name in START_FILES}
    return {path for path in said.values() if path.startswith("/")}


def packages_in(programs: list[pathlib.Path]) -> dict[str, list[str]]:
    """Package to the files of it that are in the programs, in part or whole."""
    paths = {path for program in programs for path in sources_of(program) if path.startswith("/usr/")} | start_files()
    whose: dict[str, list[str]] = {}
    for path, package in packages.packages_of(sorted(paths)).items():
        whose.setdefault(package, []).append(path)
    return whose
