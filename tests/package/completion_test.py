#!/usr/bin/env python3
"""Presses TAB in bash, zsh and fish, each in a terminal of its own, and runs the line that comes of it. A shell that is not installed is
left out; exit 77: none is."""

import argparse
import os
import pathlib
import pty
import select
import shutil
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/debian"))

import completion  # noqa: E402

DEVICES = sorted(os.listdir("/sys/bus/pci/devices")) if os.path.isdir("/sys/bus/pci/devices") else []
QUIET_S = 0.4
LATEST_S = 5  # a shell beside other load
PATIENCE_S = 30
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set enable-bracketed-paste off'; source {file}"),
    "zsh": (["zsh", "-f", "-i"], "fpath=({directory} $fpath); autoload -Uz compinit; compinit -u -D"),
    "fish": (["fish", "--no-config", "-i"], "source {file}"),
}
NAMES = {"bash": "privd", "zsh": "_privd", "fish": "privd.fish"}


class Terminal:
    """A shell in a terminal, with the completion of privd as the package installs it."""

    def __init__(self, shell: str, programs: pathlib.Path, scratch: pathlib.Path):
        file = scratch / NAMES[shell]
        file.write_text(completion.text_of(programs / "privd", shell))
        command, first = START[shell]
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(scratch), "TERM": "dumb", "PS1": "$ ", "LC_ALL": "C.UTF-8"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        self.type(first.format(file=file, directory=scratch) + "; echo 'UP'-\r", awaited="UP-")

    def type(self, text: str, awaited: str = "") -> str:
        """What the terminal shows of it, once `awaited` is there, or has not come in time, and it is quiet."""
        os.write(self.fd, text.encode())
        shown, end = "", time.monotonic() + PATIENCE_S
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], QUIET_S if awaited in shown else min(left, LATEST_S))[0]:
                break
            shown += os.read(self.fd, 65536).decode(errors="replace")
        return shown

    def line_of(self, typed: str, wanted: str) -> str:
        """The line after a TAB behind `typed`, as the shell runs it. `wanted` is how long to wait for."""
        self.type(typed, awaited=typed[-1])
        self.type("\t", awaited=wanted[len(typed):])
        self.type("\x01echo 'LINE'-")  # to its beginning
        shown = self.type("\r", awaited="LINE-")
        self.type("\x03")
        found = [line for line in shown.replace("\r", "\n").splitlines() if "LINE-" in line]
        return found[-1].split("LINE-", 1)[1].strip() if found else f"nothing: {shown!r}"

    def end(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Tab(unittest.TestCase):
    programs: pathlib.Path

    def test_completes_in_a_terminal(self):
        rows = [
            ("privd unb", "privd unbind"),
            ("privd audit ver", "privd audit verify"),
            ("privd list --tr", "privd list --tree"),
            ("privd list --state pass", "privd list --state passable"),
            ("privd list --state=pass", "privd list --state=passable"),
            ("privd bind --override boot", "privd bind --override boot-vga"),
        ]
        if DEVICES:
            rows += [
                (f"privd show {DEVICES[0][:-1]}", f"privd show {DEVICES[0]}"),
                (f"privd bind --override users={DEVICES[0][:-1]}", f"privd bind --override users={DEVICES[0]}"),
                (f"privd bind --override=users={DEVICES[0][:-1]}", f"privd bind --override=users={DEVICES[0]}"),
            ]
        for shell in START:
            if not shutil.which(shell):
                continue
            with self.subTest(shell), tempfile.TemporaryDirectory(prefix="vg-") as scratch:
                terminal = Terminal(shell, self.programs, pathlib.Path(scratch))
                for typed, wanted in rows:
                    with self.subTest(shell=shell, typed=typed):
                        self.assertEqual(terminal.line_of(typed, wanted), wanted)
                terminal.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    Tab.programs = parser.parse_args().programs.resolve()
    if not any(shutil.which(shell) for shell in START):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
