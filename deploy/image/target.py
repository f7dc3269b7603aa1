"""Whose programs are packed: this machine's own, or ARM64's, which tests/arm64.sh built against a sysroot. A sysroot has the files of
Debian's packages and dpkg's lists of them; what is run of it runs in qemu-aarch64-static. One process packs for one machine."""

import os
import pathlib
import shutil
import subprocess

sysroot = ""  # "": this machine


def use(directory: pathlib.Path | None) -> None:
    global sysroot
    if directory is None:
        return
    sysroot = os.path.realpath(directory)
    if not os.path.isdir(f"{sysroot}/var/lib/dpkg/info"):
        raise LookupError(f"{directory} is no sysroot: tests/arm64.sh sysroot")
    os.environ["DEB_HOST_ARCH"] = "arm64"  # for dpkg-shlibdeps


def architecture() -> str:
    """As Debian and OCI call it."""
    if sysroot:
        return "arm64"
    return subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()


def run_there(*command: str | pathlib.Path) -> list[str]:
    """The words that run a program of the target's here."""
    words = [str(word) for word in command]
    return ["qemu-aarch64-static", "-L", sysroot, *words] if sysroot else words


def loader(program: str | pathlib.Path) -> list[str]:
    """The words that list what the program loads, as ldd does."""
    if sysroot:
        return run_there(f"{sysroot}/lib/ld-linux-aarch64.so.1", "--list", program)
    return ["ldd", str(program)]


def tool(name: str) -> str:
    """Of binutils, or the compiler."""
    return f"aarch64-linux-gnu-{name}" if sysroot else name


def file(path: str | pathlib.Path) -> str:
    """Where a file of the target's is here. The cross compiler's own are this machine's."""
    there = sysroot + str(path)
    return there if os.path.exists(there) else str(path)


def name_of(path: str) -> str:
    """Of a file here, the target's name. What leads to the sysroot may be left out or relative, as debugging information has it."""
    _, sysroots, rest = path.rpartition(f"{os.path.basename(sysroot)}/") if sysroot else ("", "", "")
    return f"/{rest}" if sysroots else path


def real(path: str) -> str:
    """The target's name of it without links."""
    return name_of(os.path.realpath(file(path)))


def ask_dpkg(*words: str) -> list[str]:
    """What dpkg-query says of the target's packages, and where these are cross-built of this machine's, too, the target's first."""
    queries = [["dpkg-query", f"--admindir={sysroot}/var/lib/dpkg"], ["dpkg-query"]] if sysroot else [["dpkg-query"]]
    said = [subprocess.run([*query, *words], capture_output=True, text=True) for query in queries]
    return [one.stdout for one in said if one.stdout]


def shlibdeps(place: str) -> list[str]:
    """The words of dpkg-shlibdeps, which looks libraries up by where they are here: for that the lists get the sysroot in front, below
    `place`."""
    if not sysroot:
        return ["dpkg-shlibdeps"]
    lists = pathlib.Path(place, "dpkg")
    shutil.copytree(f"{sysroot}/var/lib/dpkg", lists)
    for file_list in (lists / "info").glob("*.list"):
        names = file_list.read_text().splitlines()
        file_list.write_text("".join(f"{sysroot}{'/usr' if name.startswith('/lib/') else ''}{name}\n" for name in names))
    return ["dpkg-shlibdeps", f"--admindir={lists}", f"-l{sysroot}/usr/lib/aarch64-linux-gnu", f"-l{sysroot}/usr/lib"]
