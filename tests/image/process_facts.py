"""What the kernel says of a process and its threads."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class MountPoint:
    path: str
    writable: bool  # through this mount
    kind: str  # of the file system


def status_of(path: pathlib.Path) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in path.read_text().splitlines())}


def threads(process: int) -> list[dict[str, str]]:
    return [status_of(thread / "status") for thread in pathlib.Path(f"/proc/{process}/task").iterdir()]


def seccomp_filters(process: int) -> int:
    """How many are in force for its first thread."""
    return int(status_of(pathlib.Path(f"/proc/{process}/status"))["Seccomp_filters"])


def peak_memory(process: int) -> int:
    """The most that it ever had resident, in KiB."""
    return int(status_of(pathlib.Path(f"/proc/{process}/status"))["VmHWM"].removesuffix(" kB"))


def mount_points(process: int) -> list[MountPoint]:
    found = []
    for line in pathlib.Path(f"/proc/{process}/mountinfo").read_text().splitlines():
        words = line.split()
        options, kind = words[5].split(","), words[words.index("-") + 1]
        found.append(MountPoint(words[4], "rw" in options, kind))
    return found
