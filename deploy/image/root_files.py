"""What is in an image's root: the programs, or kmod, the shared objects that they load, and what a
process without a shell still needs. Nothing else."""

import pathlib
import re
import subprocess
import tempfile

import packages
import target

HARDWARE_UID = 64531  # as --hardware-uid of privd serve and of plugind
PLUGIND_UID = 64532  # as plugind's --user; privd's --plugind-uid
NETD_UID = 64533

PASSWD = f"""root:x:0:0:root:/:/nonexistent
hardware:x:{HARDWARE_UID}:{HARDWARE_UID}:vfiogate's reader of hardware:/:/nonexistent
plugind:x:{PLUGIND_UID}:{PLUGIND_UID}:vfiogate's device plugin:/:/nonexistent
netd:x:{NETD_UID}:{NETD_UID}:vfiogate's network side:/:/nonexistent
"""
GROUP = f"root:x:0:\nhardware:x:{HARDWARE_UID}:\nplugind:x:{PLUGIND_UID}:\nnetd:x:{NETD_UID}:\n"
# Where the DaemonSet mounts, and what runtimes mount over.
DIRECTORIES = (
    "dev", "etc/vfiogate", "host", "proc", "run/vfiogate/devices", "run/vfiogate/plugind", "sys", "tmp",
    "var/lib/kubelet", "var/lib/vfiogate", "var/log/vfiogate", "var/run/cdi",
)
MODULES_DIRECTORIES = ("dev", "host/lib/modules", "proc", "sys", "tmp")
LINKS = {"lib": "usr/lib", "lib64": "usr/lib64", "bin": "usr/bin"}  # ARM64 has no lib64
# Debian's own loader of modules, which an image of its own has: the container that loads vfio-pci where that is asked
# for ends before the others start. The name by which it is called says what it does; it gets this one alone.
KMOD = "/usr/bin/kmod"
PCI_IDS = "/usr/share/misc/pci.ids"


class Entry:
    """A file, or a link where `link` says to what."""

    def __init__(self, content: bytes = b"", mode: int = 0o644, link: str = "", package: str = ""):
        self.content, self.mode, self.link, self.package = content, mode, link, package


def stripped(program: pathlib.Path) -> bytes:
    """The program without debugging information, which is most of it."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([target.tool("strip"), "--strip-unneeded", "-o", out.name, str(program)], check=True)
        return pathlib.Path(out.name).read_bytes()


def loaded_by(program: pathlib.Path | str) -> list[str]:
    """The shared objects that the loader finds for it, itself included."""
    text = packages.run(*target.loader(program))
    missing = re.findall(r"^\s*(\S+) => not found", text, re.MULTILINE)
    if missing:
        raise LookupError(f"{program} needs {', '.join(missing)}, which is not installed here")
    return [target.name_of(path) for path in re.findall(r"(/\S+) \(0x", text)]


def in_usr(path: str) -> str:
    """The name below the root, with /lib as the link that it is on Debian."""
    name = path.lstrip("/")
    return name if name.startswith("usr/") else f"usr/{name}"


def add_package_file(files: dict[str, Entry], path: str, package: str) -> None:
    mode = 0o755 if path == KMOD or "/ld-linux" in path else 0o644
    files[in_usr(path)] = Entry(pathlib.Path(target.file(target.real(path))).read_bytes(), mode, package=package)
    notice = packages.copyright_of(package)
    name = packages.facts_of(package)["Package"]
    files[f"usr/share/doc/{name}/copyright"] = Entry(notice.read_bytes(), package=package)


def add_system(files: dict[str, Entry], needed: list[str]) -> dict[str, Entry]:
    """The files of packages, and the links by which they are found."""
    for path, package in packages.packages_of([*needed, "/usr/lib/os-release"]).items():
        add_package_file(files, path, package)
    files["etc/os-release"] = Entry(link="../usr/lib/os-release")
    for name, there in LINKS.items():
        if name != "lib64" or target.architecture() == "amd64":
            files[name] = Entry(link=there)
    return files


def collect(programs: list[pathlib.Path]) -> dict[str, Entry]:
    """Name below the root to what is there."""
    files = {
        "etc/passwd": Entry(PASSWD.encode()),
        "etc/group": Entry(GROUP.encode()),
    }
    for program in programs:
        files[f"usr/bin/{program.name}"] = Entry(stripped(program), 0o755)
    return add_system(files, sorted({library for program in programs for library in loaded_by(program)}) + [PCI_IDS])


def collect_modules() -> dict[str, Entry]:
    """The same of the image that loads modules, which has no program of ours."""
    return add_system({"usr/bin/modprobe": Entry(link="kmod")}, [*sorted(loaded_by(target.file(KMOD))), KMOD])
