"""What apparmor_parser makes of a profile: the automaton that a kernel would walk, from the compiler's
own listing of it."""

import os
import pathlib
import re
import shutil
import subprocess

FEATURES = pathlib.Path("/etc/apparmor.d/abi")
# Bits of a state that is reached, for files that belong to somebody else.
OTHERS = 14
BITS = {"r": 0x4, "w": 0x2, "k": 0x20, "m": 0x40}
X_BIT = 0x1

STATE = re.compile(r"\{(\d+)\} perms:.*")
STEP = re.compile(r"    (.+) -> \{(\d+)\}.*")
ACCEPTS = re.compile(r"\{(\d+)\} \(0x ([0-9a-f]+)/([0-9a-f]+)/.*\)")
DEFAULT = re.compile(r"\[\^(.*)\]")


def found() -> str | None:
    return shutil.which("apparmor_parser", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def run(profile: pathlib.Path, *options: str, kernel: str = "3.0") -> subprocess.CompletedProcess:
    """Compiles for a kernel with these features; nothing is loaded, no cache is touched."""
    features = ["--kernel-features", str(FEATURES / kernel)]
    command = [found(), "-Q", "-K", *features, *options, str(profile)]
    return subprocess.run(command, capture_output=True, text=True)


class Automaton:
    """The part that judges files."""

    def __init__(self, profile: pathlib.Path):
        compiled = run(profile, "-D", "dfa-states")
        if compiled.returncode != 0:
            raise ValueError(compiled.stderr)
        self.accepts: dict[str, int] = {}
        self.steps: dict[str, dict[str, str]] = {}
        self.others: dict[str, tuple[str, str]] = {}  # which characters lead nowhere, where the rest leads
        states = 0
        current = ""
        # Files come first, behind them all else, each with its list of states that accept.
        for line in (compiled.stderr + compiled.stdout).splitlines():
            if line.startswith("{1} <=="):
                states += 1
            if states != 1:
                continue
            if accepting := ACCEPTS.fullmatch(line):
                self.accepts[accepting[1]] = int(accepting[2], 16) & ~int(accepting[3], 16)
            elif state := STATE.fullmatch(line):
                current = state[1]
                self.steps[current] = {}
            elif step := STEP.fullmatch(line):
                self.add_step(current, step[1], step[2])
        if not self.accepts or not self.steps:
            raise ValueError("no automaton in what apparmor_parser prints")

    def add_step(self, state: str, on: str, to: str) -> None:
        if default := DEFAULT.fullmatch(on):
            self.others[state] = (default[1].replace("\\x0", "\0"), to)
        else:
            self.steps[state][chr(int(on.split()[-1], 16))] = to

    def allowed(self, path: str) -> set[str]:
        state = "1"
        for char in path:
            known = self.steps.get(state, {})
            nowhere, elsewhere = self.others.get(state, ("", ""))
            if char in known:
                state = known[char]
            elif elsewhere and char not in nowhere:
                state = elsewhere
            else:
                return set()
        bits = self.accepts.get(state, 0) >> OTHERS
        return {letter for letter, bit in BITS.items() if bits & bit} | ({"x"} if bits & X_BIT else set())
