#!/usr/bin/env python3
"""The programs under the default seccomp profiles of container runtimes, as data: each row of their tables, and each call
that they make from their first instruction on. And what they say where a profile refuses one. Needs root. Exit 77: it
cannot be run here."""

import copy
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from bare_node import PATIENCE, USERS, Node, Running, await_that

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402
import bpf  # noqa: E402
import libseccomp  # noqa: E402
import load_filter  # noqa: E402
import runtime_profiles  # noqa: E402
import seccomp_profile  # noqa: E402

PROGRAMS = pathlib.Path()
NO_CAPABILITIES = frozenset()
MODULES_INIT = frozenset({"CAP_SYS_MODULE"})
MODULE_CALLS = ("finit_module", "init_module")  # of modprobe: of a plain module, and of a compressed one
PRIVD = ["privd-hardware", "privd-gate", "privd-binder"]
TABLES = {name: ["privd", "policy", name.removeprefix("privd-")] for name in PRIVD} | {"plugind": ["plugind", "policy"]} | {
    f"netd {role}": ["netd", "policy", role] for role in ("metrics", "dra")
}
OWN_PID = 4711
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


def profiles() -> list[runtime_profiles.RuntimeProfile]:
    return list(runtime_profiles.fetched().values())


def printed(table: list[str], form: str) -> dict:
    command = [PROGRAMS / table[0], *table[1:], "-o", form]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def rows_of(table: list[str]) -> list[tuple[str, list[int], str]]:
    """Call, the arguments of a call that the row is about, and what the row answers itself. All that the runtime, the start,
    the program and what it forks need is in the profile that is printed; rows that it merges stand in the table alone."""
    policy = printed(table, "json")
    rows = [row for part in (policy, policy.get("forked", {})) for row in part.get("rows", [])]
    found = [(call["call"], {arg["index"]: arg["value"] for arg in row["arguments"]}, row["action"])
             for row in rows for call in (row, *row["alternatives"])]
    for entry in printed(table, "oci")["syscalls"]:
        action = f"errno {errno.errorcode[entry['errnoRet']]}" if "errnoRet" in entry else "allow"
        values = {arg["index"]: arg["valueTwo"] for arg in entry.get("args", [])}
        found += [(name, values, action) for name in entry["names"]]
    number = {"own pid": OWN_PID}
    return [(call, [number.get(values.get(i), values.get(i, 0)) for i in range(6)], action) for call, values, action in found]


def refused(instructions: bytes, call: int, arguments: list[int]) -> str:
    """What the profile answers instead; empty where it permits the call."""
    answer = bpf.said(bpf.verdict(instructions, call, arguments))
    return "" if answer == "allow" else answer


class Rows(unittest.TestCase):
    def test_each_row_is_permitted_or_answers_what_the_profile_answers(self):
        for profile in profiles():
            instructions = seccomp_profile.filter_of(profile.profile, NO_CAPABILITIES)
            for program, table in TABLES.items():
                rows = rows_of(table)
                self.assertGreater(len(rows), 100)
                for call, arguments, own in rows:
                    answer = refused(instructions, libseccomp.number_of(call), arguments)
                    with self.subTest(profile=str(profile), program=program, call=call, arguments=arguments):
                        self.assertIn(answer, ("", own), f"{profile} answers {call} of {program} with {answer}")

    def test_modules_are_loaded_with_the_capability_of_the_init_container_and_not_without(self):
        for profile in profiles():
            for capabilities, wanted in ((MODULES_INIT, ""), (NO_CAPABILITIES, "errno EPERM")):
                instructions = seccomp_profile.filter_of(profile.profile, capabilities)
                for call in MODULE_CALLS:
                    with self.subTest(profile=str(profile), call=call, capabilities=capabilities):
                        self.assertEqual(refused(instructions, libseccomp.number_of(call), []), wanted)


class OnANode(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.node = Node(pathlib.Path(place.name))

    def start(self, command: list, before=(), become=None) -> Running:
        words = [*before, PROGRAMS / command[0], *command[1:]]
        log = self.node.place / f"{len(list(self.node.place.glob('*.log')))}.log"
        running = Running(words, log, become, USERS.get(command[0], 0))
        self.addCleanup(running.close)
        return running


class Calls(OnANode):
    """As they are made, without a profile. That no others follow once they serve is what every_row_test shows."""

    def record(self, name: str, command: list) -> tuple[Running, pathlib.Path]:
        file = self.node.place / f"{name}.calls"
        return self.start(command, before=[PROGRAMS.parent / "tests/record_calls", file]), file

    def recorded(self) -> dict[str, pathlib.Path]:
        files, serving = {}, []
        for name, (command, words) in self.node.daemons().items():
            daemon, files[name] = self.record(name, command)
            self.assertTrue(daemon.says(words), f"{name}: {daemon.said()}")
            serving.append(daemon)
        for name, command in self.node.commands().items():
            done, files[name] = self.record(name, command)
            done.process.wait(PATIENCE)
            # A plugind without resources is not ready at once; that it was asked is what counts.
            self.assertIn(done.process.returncode, (0, 1), f"{name}: {done.said()}")
            self.assertNotIn("cannot reach", done.said())
        for daemon in reversed(serving):
            self.assertEqual(daemon.end(), 0, daemon.said())
        return files

    def assert_permitted(self, program: str, file: pathlib.Path, capabilities=NO_CAPABILITIES):
        calls = [[int(word, 16) for word in line.split()] for line in file.read_text().splitlines()]
        self.assertGreater(len(calls), 50, program)
        self.assertEqual(calls[0][0], libseccomp.number_of("execve"))
        for profile in profiles():
            instructions = seccomp_profile.filter_of(profile.profile, capabilities)
            answers: dict[tuple[str, str], list[int]] = {}
            for number, *arguments in calls:
                call, answer = libseccomp.name_of(number), refused(instructions, number, arguments)
                if answer:
                    answers.setdefault((call, answer), arguments)
            for (call, answer), arguments in answers.items():
                with self.subTest(profile=str(profile), program=program, call=call):
                    shown = ", ".join(hex(argument) for argument in arguments)
                    self.fail(f"{profile} answers {call}({shown}) of {program} with {answer}")

    def test_from_the_first_instruction_on_are_permitted(self):
        for program, file in self.recorded().items():
            self.assert_permitted(program, file)

    def test_of_modprobe_in_the_init_container_are_permitted(self):
        modprobe = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin:/bin")
        self.assertIsNotNone(modprobe)
        file = self.node.place / "modprobe.calls"
        command = [PROGRAMS.parent / "tests/record_calls", file, modprobe, f"--dirname={self.node.place}", "--all", "vfio-pci"]
        told = subprocess.run(command, capture_output=True, text=True)
        self.assertIn("vfio-pci not found", told.stderr)
        self.assert_permitted("modprobe", file, MODULES_INIT)


# What older default profiles do not have, and what comes of EPERM in its place: of which programs, whether they serve, and
# what they say.
REFUSED = [
    (LANDLOCK, PRIVD, True, 'event=landlock abi=0 error="Operation not permitted"'),
    (LANDLOCK, ["plugind", "netd metrics", "netd dra"], True, 'event=started .*landlock=0'),
    (("rseq", "statx", "faccessat2", "clone3"), list(TABLES), True, "event=(started|locked_down)"),
    (("close_range",), list(TABLES), False, "closing stray descriptors: Operation not permitted"),
    (("openat2",), ["privd-hardware"], False, "event=scan_failed .*Operation not permitted"),
    (("openat2",), ["privd-gate", "privd-binder"], False, "--state-dir .*: Operation not permitted"),
    (("seccomp",), list(TABLES), False, "seccomp_init: Operation not permitted"),
    ((), list(TABLES), True, "event=(started|locked_down)"),
]


class Refused(OnANode):
    """By a profile like Docker's that does not have a call."""

    def under(self, calls: tuple[str, ...]):
        profile = copy.deepcopy(runtime_profiles.fetched()["Docker"].profile)
        for entry in profile["syscalls"]:
            entry["names"] = [name for name in entry["names"] if name not in calls]
        instructions = seccomp_profile.filter_of(profile, NO_CAPABILITIES)

        def become():
            load_filter.set_no_new_privileges()
            load_filter.load(instructions)

        return become

    def test_a_call_is_told_by_its_true_reason_or_done_without(self):
        for calls, programs, serves, words in REFUSED:
            for program in programs:
                with self.subTest(program, calls=calls):
                    daemon = self.start(self.node.daemons()[program][0], become=self.under(calls))
                    pattern = re.compile(words)
                    await_that(words, lambda: pattern.search(daemon.said()) or daemon.process.poll() is not None, PATIENCE)
                    self.assertRegex(daemon.said(), words)
                    self.assertEqual(daemon.end() if serves else daemon.process.wait(PATIENCE), 0 if serves else 1)

    def test_landlock_is_not_said_to_be_missing_where_a_profile_refuses_it(self):
        for program in PRIVD:
            with self.subTest(program):
                command = [*self.node.daemons()[program][0], "--require-landlock"]
                daemon = self.start(command, become=self.under(LANDLOCK))
                self.assertEqual(daemon.process.wait(PATIENCE), 1)
                self.assertIn("--require-landlock: landlock_create_ruleset: Operation not permitted", daemon.said())


def main():
    global PROGRAMS
    PROGRAMS, words = against_programs.arguments(__doc__)
    if os.geteuid() != 0:
        against_programs.skip("it needs root: gate and binder serve only as root")
    try:
        profiles()
    except runtime_profiles.Unavailable as reason:
        against_programs.skip(str(reason))
    against_programs.run(words)


if __name__ == "__main__":
    main()
