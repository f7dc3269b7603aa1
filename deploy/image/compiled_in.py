"""What of other packages ends in the programs themselves: headers whose code the compiler put in, which the programs' debugging
information names, static libraries of which the linker took something, and the C library's and the compiler's start files, which
every link takes."""

import pathlib
import re
import subprocess

import packages
import target

# Linked into every program, without debugging information of their own.
START_FILES = ("Scrt1.o", "crti.o", "crtn.o", "libc_nonshared.a", "crtbeginS.o", "crtendS.o", "libgcc.a")
# Those that a program of ours may be linked with statically (cmake/packages.cmake). Debian builds them without debugging information.
ARCHIVES = ("libaddress_sorting.a", "libcapnp.a", "libcapnp-rpc.a", "libcares.a", "libgpr.a", "libgrpc++_unsecure.a", "libgrpc_unsecure.a", "libkj.a",
            "libkj-async.a", "libkj-http.a", "libkj-tls.a", "libmd.a", "libprotobuf.a", "libupb.a", "libyaml-cpp.a", "libz.a")
LINE = re.compile(r"^  (\d+)\t(?:(\d+)\t)?\((?:indirect line string|line string|string)[^)]*\): (.*)$")


def sources_of(program: pathlib.Path) -> set[str]:
    """The absolute paths of the sources that the program's lines of code come from. LookupError: it does not say."""
    command = [target.tool("readelf"), "--debug-dump=rawline", str(program)]
    found: set[str] = set()
    directories: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
        for line in reader.stdout:
            if line.startswith(" The Directory Table"):
                directories = {}
            elif match := LINE.match(line):
                number, directory, name = match.groups()
                if directory is None:
                    directories[number] = target.name_of(name)
                elif directories.get(directory, "").startswith("/"):
                    found.add(f"{directories[directory]}/{name}")
    if not found:
        raise LookupError(f"{program} has no debugging information: what was compiled into it is unknown")
    return found


def found_by_gcc(names: tuple[str, ...]) -> set[str]:
    said = {name: packages.run(target.tool("gcc"), *([f"--sysroot={target.sysroot}"] if target.sysroot else []), f"-print-file-name={name}").strip() for name in names}
    return {path for path in said.values() if path.startswith("/")}


def defines(file: str) -> set[str]:
    """Functions and data that are defined here and nowhere else: not what each user of a header has a copy of."""
    said = packages.run(target.tool("nm"), "--defined-only", "--extern-only", "--format=posix", file)
    return {words[0] for words in map(str.split, said.splitlines()) if len(words) > 2 and words[1] in "TDBR"}


def archives_in(programs: list[pathlib.Path]) -> set[str]:
    there = set().union(*(defines(str(program)) for program in programs))
    abseil = {str(one) for archive in found_by_gcc(("libabsl_base.a",)) for one in pathlib.Path(archive).parent.glob("libabsl_*.a")}
    return {archive for archive in found_by_gcc(ARCHIVES) | abseil if defines(archive) & there}


def packages_in(programs: list[pathlib.Path]) -> dict[str, list[str]]:
    """Package to the files of it that are in the programs, in part or whole."""
    paths = {path for program in programs for path in sources_of(program) if path.startswith("/usr/")}
    paths |= found_by_gcc(START_FILES) | archives_in(programs)
    whose: dict[str, list[str]] = {}
    for path, package in packages.packages_of(sorted({target.name_of(path) for path in paths})).items():
        whose.setdefault(package, []).append(path)
    return whose
