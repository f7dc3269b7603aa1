#!/usr/bin/env python3
"""Which local sockets a unit's process could connect to: lays out a stand-in of a host's /run and /var/lib with sockets that all
may use, in namespaces of its own, builds what the unit makes of them without systemd, becomes its user, without capabilities, and
tries each.

Usage: unit_dials.py UNIT     as root; prints JSON: by socket, "connected" or the error's name; an abstract name begins with @
"""

import ctypes
import json
import os
import pathlib
import re
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
from reached_sockets import CLONE_NEWNET, CLONE_NEWNS, LIBC, attempt, become, checked  # noqa: E402

MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
HOST = ("/run", "/var/lib")
SOCKETS = (
    "/run/systemd/private", "/run/dbus/system_bus_socket", "/run/containerd/containerd.sock", "/run/foreign.sock",
    "/run/vfiogate/plugind.sock", "/run/vfiogate/iommufd/iommufd.sock", "/var/lib/kubelet/device-plugins/kubelet.sock",
    "/var/lib/kubelet/pods/foreign.sock", "/var/lib/vfiogate/foreign.sock", "@foreign")
# As tmpfiles.d and systemd make them: root's alone.
CLOSED = ("/run/vfiogate/devices", "/run/vfiogate/iommufd", "/var/lib/vfiogate")
DIRECTORIES = (*CLOSED, "/run/cdi", "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry",
               "/var/lib/kubelet/pki")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    def text(word: str | None) -> bytes | None:
        return None if word is None else word.encode()
    checked(LIBC.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data)))


class Unit:
    def __init__(self, text: str) -> None:
        self.text = text

    def values(self, key: str) -> list[str]:
        return " ".join(re.findall(rf"^{key}=(.*)", self.text, re.MULTILINE)).split()

    def paths(self, *keys: str) -> list[tuple[str, str]]:
        """Where it is, and where it is seen; without what may be missing and is, from the top down."""
        found = []
        for word in (word for key in keys for word in self.values(key)):
            source, _, seen = word.removeprefix("-").partition(":")
            if os.path.exists(source) or not word.startswith("-"):
                found.append((source, seen or source))
        return sorted(found, key=lambda pair: pair[1])


def listen(name: str) -> socket.socket:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if not name.startswith("@"):
        pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    one.bind("\0" + name[1:] if name.startswith("@") else name)
    if not name.startswith("@"):
        os.chmod(name, 0o777)
    one.listen(8)
    return one


def lay_out_host() -> list[socket.socket]:
    checked(LIBC.unshare(CLONE_NEWNS | CLONE_NEWNET))
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    for directory in HOST:
        mount("none", directory, "tmpfs", 0, "mode=0755")
    for directory in DIRECTORIES:
        os.makedirs(directory)
    for directory in CLOSED:
        os.chmod(directory, 0o700)
    return [listen(name) for name in SOCKETS]


def see_as(unit: Unit) -> None:
    checked(LIBC.unshare(CLONE_NEWNS | (CLONE_NEWNET if unit.values("PrivateNetwork") == ["yes"] else 0)))
    hidden = unit.paths("InaccessiblePaths")
    bound = [(os.open(source, os.O_PATH), seen) for source, seen in unit.paths("BindPaths", "BindReadOnlyPaths")]
    emptied = [word.partition(":")[0] for word in unit.values("TemporaryFileSystem")]
    for directory in emptied:
        mount("none", directory, "tmpfs", 0, "mode=0755")
    for source, seen in bound:
        os.makedirs(seen, exist_ok=True)
        mount(f"/proc/self/fd/{source}", seen, None, MS_BIND | MS_REC)
    for directory in emptied:
        mount("none", directory, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    for _, seen in hidden:
        mount("none", seen, "tmpfs", MS_RDONLY, "mode=0000")


def main() -> None:
    unit = Unit(pathlib.Path(sys.argv[1]).read_text())
    listening = lay_out_host()
    see_as(unit)
    [user, group] = [int((unit.values(key) or ["0"])[0]) for key in ("User", "Group")]
    become(user, group, [])
    print(json.dumps({name: attempt(name) for name in SOCKETS}))
    for one in listening:
        one.close()


if __name__ == "__main__":
    main()
