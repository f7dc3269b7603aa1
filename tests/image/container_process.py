#!/usr/bin/env python3
"""Becomes a container's process, as a runtime makes it: started in the container's new namespaces, as root, with one
argument, a JSON map. `root` (a directory), `mounts` ({from, to, readOnly, recursive}), `shm` and `readOnlyRoot` say how its
root is made; or `of`, a process, whose container it enters, and ends as its command ends. `uid`, `gid`, `drop`,
`noNewPrivileges`, `seccomp` (a filter, in base64, or empty), `environment`, `command`: what to become."""

import base64
import ctypes
import json
import os
import pathlib
import signal
import stat
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import load_filter  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MS_STRICTATIME = 1 << 24
MNT_DETACH = 2
SYS_PIVOT_ROOT, SYS_CAPSET, SYS_MOUNT_SETATTR = 155, 126, 442
AT_RECURSIVE, AT_EMPTY_PATH, MOUNT_ATTR_RDONLY = 0x8000, 0x1000, 1
PR_SET_PDEATHSIG = 1
NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000  # mnt cgroup uts ipc pid net
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522

# What containerd, CRI-O and Docker make in /dev, and hide in /proc.
NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
MASKED = ["acpi", "asound", "kcore", "keys", "latency_stats", "timer_list", "timer_stats", "sched_debug", "scsi"]
READ_ONLY = ["bus", "fs", "irq", "sys", "sysrq-trigger"]


def check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target, kind: str = "", flags: int = 0, data: str = "") -> None:
    words = [str(word).encode() for word in (source, target, kind)]
    check(LIBC.mount(*words, ctypes.c_ulong(flags), data.encode() or None), f"mount {source} at {target}")


def make_read_only(target, recursive: bool = False) -> None:
    """Of this mount, whatever flags it has; others of the same file system stay as they are."""
    attributes = ctypes.create_string_buffer(struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0))
    flags = AT_RECURSIVE if recursive else 0
    done = LIBC.syscall(SYS_MOUNT_SETATTR, -100, str(target).encode(), flags, attributes, ctypes.c_size_t(32))
    check(done, f"read-only {target}")


def bind(source: str, target: pathlib.Path, read_only: bool, recursive: bool = False) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if pathlib.Path(source).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        make_read_only(target, recursive)


def make_devices(dev: pathlib.Path, shm: str) -> None:
    mount("tmpfs", dev, "tmpfs", MS_NOSUID | MS_STRICTATIME, "mode=755,size=65536k")
    for name, number in NODES.items():
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(*number))
        (dev / name).chmod(0o666)
    for name, target in (LINKS | {"ptmx": "pts/ptmx"}).items():
        (dev / name).symlink_to(target)
    for name in ("pts", "shm", "mqueue"):
        (dev / name).mkdir()
    mount("devpts", dev / "pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
    mount("mqueue", dev / "mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    bind(shm, dev / "shm", read_only=False)


def make_proc(proc: pathlib.Path) -> None:
    mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for path in [proc / name for name in MASKED]:
        if path.is_dir():
            mount("tmpfs", path, "tmpfs", MS_RDONLY)
        elif path.exists():
            mount("/dev/null", path, flags=MS_BIND)
    for path in [proc / name for name in READ_ONLY]:
        if path.exists():
            mount(str(path), path, flags=MS_BIND | MS_REC)
            make_read_only(path)


def enter_root(wish: dict) -> None:
    root = pathlib.Path(wish["root"])
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount(str(root), root, flags=MS_BIND | MS_REC)
    make_proc(root / "proc")
    make_devices(root / "dev", wish["shm"])
    mount("sysfs", root / "sys", "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    # A path above another one first, in whatever order the manifest has them.
    for one in sorted(wish["mounts"], key=lambda one: one["to"]):
        bind(one["from"], root / one["to"].lstrip("/"), one["readOnly"], one["recursive"])
    os.chdir(root)
    check(LIBC.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    check(LIBC.umount2(b".", MNT_DETACH), "umount of the host's root")
    os.chdir("/")
    if wish["readOnlyRoot"]:
        make_read_only("/")


def enter_container(process: int) -> None:
    """As `kubectl exec` and exec probes do. Returns in a child, which dies with the one that waits for it."""
    check(LIBC.setns(os.pidfd_open(process), NAMESPACES), f"the namespaces of process {process}")
    child = os.fork()
    if child != 0:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def give_up_power(wish: dict) -> None:
    last = int(wish["lastCapability"])
    if wish["drop"]:
        if wish["drop"] != ["ALL"]:
            raise ValueError(f"it is not known how to drop {wish['drop']}, only [ALL]")
        for capability in range(last + 1):
            check(LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), f"bounding set, {capability}")
    os.setgroups([wish["gid"]])
    os.setresgid(wish["gid"], wish["gid"], wish["gid"])
    os.setresuid(wish["uid"], wish["uid"], wish["uid"])
    if wish["drop"]:
        check(LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient set")
        header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0))
        check(LIBC.syscall(SYS_CAPSET, header, ctypes.create_string_buffer(24)), "capset")
    if wish["noNewPrivileges"]:
        check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def main() -> None:
    wish = json.loads(sys.argv[1])
    # Before the root is another one, in which they are not to be found.
    wish["lastCapability"] = pathlib.Path("/proc/sys/kernel/cap_last_cap").read_text()
    if "root" in wish:
        enter_root(wish)
    else:
        enter_container(wish["of"])
    os.umask(0o022)
    give_up_power(wish)
    if "of" in wish:
        check(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "end with the parent")
    # Last of all, as runc does with no_new_privs: of its own calls none is judged but the next.
    if wish["seccomp"]:
        load_filter.load(base64.b64decode(wish["seccomp"]))
    os.execve(wish["command"][0], wish["command"], wish["environment"])


if __name__ == "__main__":
    main()
