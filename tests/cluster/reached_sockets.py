#!/usr/bin/env python3
"""Which local sockets a process could connect to: enters the mount and network namespaces of process PID and its root, lists every
socket file there, as root, and every abstract name; then becomes PID's user, without capabilities, and tries each.

Usage: reached_sockets.py PID     prints JSON: by socket, "connected" or the error's name; an abstract name begins with @
"""

import ctypes
import errno
import json
import os
import pathlib
import re
import socket
import stat
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
CAPABILITY_VERSION_3 = 0x20080522
KINDS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM)


def status_of(process: pathlib.Path, name: str) -> list[int]:
    [words] = re.findall(rf"^{name}:[ \t]*(.*)$", (process / "status").read_text(), re.MULTILINE)
    return [int(word) for word in words.split()]


def checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def abstract_names() -> list[str]:
    """Of this network namespace, those that are bound."""
    lines = pathlib.Path("/proc/self/net/unix").read_text().splitlines()[1:]
    return sorted({line.partition(" @")[2] for line in lines if " @" in line})


def enter(process: pathlib.Path, space: str, kind: int) -> None:
    with (process / "ns" / space).open() as namespace:
        checked(LIBC.setns(namespace.fileno(), kind))


def enter_files(process: pathlib.Path) -> None:
    root = os.open(process / "root", os.O_RDONLY | os.O_DIRECTORY)
    enter(process, "mnt", CLONE_NEWNS)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def become(user: int, group: int, groups: list[int]) -> None:
    os.setgroups(groups)
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    checked(LIBC.capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()))


def socket_files(directory: str):
    """Links are not followed: what they name is listed where it is, or is not there. Nothing a process takes away meanwhile is."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            continue
        if stat.S_ISSOCK(mode):
            yield entry.path
        elif stat.S_ISDIR(mode):
            yield from socket_files(entry.path)


def attempt(name: str) -> str:
    address = "\0" + name[1:] if name.startswith("@") else name
    for kind in KINDS:
        with socket.socket(socket.AF_UNIX, kind) as one:
            one.settimeout(5)
            try:
                one.connect(address)
                return "connected"
            except OSError as refused:
                if refused.errno != errno.EPROTOTYPE:
                    return errno.errorcode.get(refused.errno, str(refused))
    return "EPROTOTYPE"


def main() -> None:
    process = pathlib.Path("/proc") / sys.argv[1]
    [user, *_], [group, *_], groups = (status_of(process, name) for name in ("Uid", "Gid", "Groups"))
    enter(process, "net", CLONE_NEWNET)
    found = [f"@{name}" for name in abstract_names()]
    enter_files(process)
    found += sorted(socket_files("/"))
    become(user, group, groups)
    print(json.dumps({name: attempt(name) for name in found}))


if __name__ == "__main__":
    main()
