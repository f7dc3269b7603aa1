#!/usr/bin/env python3
"""The AppArmor profiles: that apparmor_parser takes each without a warning, that it allows what its process does
and nothing beside, and that what is judged here by our own reading of it is what the compiler makes of
it. No kernel enforces anything here. Exit 77: apparmor_parser is missing."""

import functools
import pathlib
import sys
import tempfile
import unittest

import apparmor_compiler as compiler
import apparmor_sources as sources
import apparmor_tables as tables
from apparmor_profile import Malformed, Profile, allowed, parse, translate

TREE = pathlib.Path(__file__).resolve().parents[2]
PROFILES = {name: TREE / "deploy/apparmor" / name for name in tables.ALLOWED}
PROGRAMS = pathlib.Path()

# All of sysfs that may be written, and by whom.
WRITER = "vfiogate-binder"
WRITABLE = [
    "@{pci}/driver_override rw,",
    "@{pci}/sriov_numvfs w,",
    "/host/sys/bus/pci/drivers/*/{bind,unbind} w,",
    "/host/sys/bus/pci/drivers_probe w,",
]
# What the writer may do with files of a device that no scan reads.
WRITERS = {"driver_override": "rw", "sriov_numvfs": "w", "sriov_totalvfs": "r", "vpd": "r"}

sys.path.insert(0, str(TREE / "deploy/image"))
import root_files

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402


@functools.cache
def code_paths(name: str) -> dict[str, str]:
    """What the code itself says that this process opens."""
    paths = sources.common_paths() | sources.state_paths().get(name, {})
    if name == "vfiogate-gate":
        return paths | sources.socket_paths(tables.DIGEST) | sources.spec_paths(tables.DIGEST)
    return paths | sources.sysfs_paths(tables.DEVICE, tables.GROUP) | sources.vendor_names()


@functools.cache
def expected(name: str) -> dict[str, set[str]]:
    """What another one may do and this one is not said to is denied."""
    closed = {f"{tables.DEVICE}/{attribute}": "" for attribute in tables.CLOSED_ATTRIBUTES}
    whole = dict.fromkeys(tables.DENIED, "") | closed
    for other in PROFILES:
        whole |= dict.fromkeys(tables.ALLOWED[other] | code_paths(other), "")
    whole |= tables.ALLOWED[name] | code_paths(name)
    return {path: set(permissions) for path, permissions in whole.items()}


def reaches_sysfs(pattern: str) -> bool:
    """Whether it may match below /host/sys, as far as can be told before its first special character."""
    fixed = pattern
    for special in "*?[{":
        fixed = fixed.partition(special)[0]
    return fixed.startswith("/host/sys") or "/host/sys".startswith(fixed)


def faults(profile: Profile, text: str) -> list[str]:
    found = []
    for path, permissions in expected(profile.name).items():
        if (given := allowed(profile, path)) != permissions:
            found.append(f"{path}: {''.join(sorted(given))} instead of {''.join(sorted(permissions))}")
    lines = text.splitlines()
    for rule in profile.files:
        known = profile.name == WRITER and lines[rule.line - 1].strip() in WRITABLE
        if rule.permissions != {"r"} and reaches_sysfs(rule.pattern) and not known:
            found.append(f"more than reading below /host/sys: {rule.pattern}")
    if sorted(profile.others) != sorted(tables.others_of(profile.name)):
        found.append(f"not about files: {profile.others}")
    return found


def with_rule(text: str, rule: str) -> str:
    head, brace, _ = text.rpartition("}")
    return f"{head}  {rule}\n{brace}\n"


class Matcher(unittest.TestCase):
    def check(self, glob, matching, others):
        for path in matching:
            self.assertTrue(translate(glob).fullmatch(path), f"{glob} should match {path}")
        for path in others:
            self.assertFalse(translate(glob).fullmatch(path), f"{glob} should not match {path}")

    def test_stars(self):
        self.check("/a/*", ["/a/b", "/a/.b"], ["/a/", "/a/b/", "/a/b/c", "/a"])
        self.check("/a/**", ["/a/b", "/a/b/c", "/a/b/"], ["/a/", "/a"])
        self.check("/a/*/c", ["/a/b/c"], ["/a//c", "/a/b/b/c", "/a/c"])
        self.check("/a/**/c", ["/a/b/c", "/a/b/b/c"], ["/a//c", "/a/c"])
        self.check("/a/{,**/}c", ["/a/c", "/a/b/c", "/a/b/b/c"], ["/a/bc", "/ac"])
        self.check("/a/b*", ["/a/b", "/a/bc"], ["/a/b/", "/a/cb"])

    def test_one_character_and_classes(self):
        self.check("/a?", ["/ab"], ["/a", "/a/", "/abc"])
        self.check("/a[0-3x]", ["/a0", "/a3", "/ax"], ["/a4", "/a", "/a/"])
        self.check("/a[^b]c", ["/axc", "/a/c"], ["/abc"])

    def test_braces(self):
        self.check("/{a,bc}/d", ["/a/d", "/bc/d"], ["/b/d", "/a,bc/d"])
        self.check("/a{,b}", ["/a", "/ab"], ["/abb"])
        self.check("/{a,b{c,d}}", ["/a", "/bc", "/bd"], ["/b", "/ac"])
        self.check("/a,b", ["/a,b"], ["/a"])

    def test_all_else_is_itself(self):
        self.check("/a.b", ["/a.b"], ["/axb"])
        self.check("/a+(b)$", ["/a+(b)$"], ["/aab"])
        self.check("/a", ["/a"], ["/a\n", "/b/a", "/a/"])

    def test_what_it_does_not_know_it_refuses(self):
        sound = PROFILES[WRITER].read_text()
        for rule in tables.REFUSED:
            with self.assertRaises(Malformed, msg=rule):
                parse(with_rule(sound, rule))
        for text in ("profile x {\n", "/x r,\n", "", f"{sound}/x r,\n"):
            with self.assertRaises(Malformed, msg=text):
                parse(text)


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        texts = {name: file.read_text() for name, file in PROFILES.items()}
        cls.profiles = [(name, text, parse(text)) for name, text in texts.items()]

    def test_there_is_one_for_each_of_privds_containers_and_no_other(self):
        there = {file.name for file in (TREE / "deploy/apparmor").iterdir() if file.suffix != ".md"}
        self.assertEqual(there, set(PROFILES))

    def test_its_name_is_the_files_and_it_enforces(self):
        for name, _, profile in self.profiles:
            self.assertEqual(profile.name, name)
            self.assertEqual(profile.flags, "attach_disconnected")

    def test_it_allows_what_is_needed_and_nothing_beside(self):
        for name, text, profile in self.profiles:
            self.assertEqual(faults(profile, text), [], name)

    def test_a_rule_that_is_too_wide_is_caught(self):
        for name, text, _ in self.profiles:
            for rule in tables.TOO_WIDE:
                if name == WRITER and rule.startswith("/var/lib/vfiogate/"):
                    continue  # its own
                # The gate knows no PCI functions.
                worse = with_rule(text, rule.replace("@{pci}", "/host/sys/devices/pci0000:00/{,**/}0000:3b:00.0"))
                self.assertNotEqual(faults(parse(worse), worse), [], f"{name}: {rule}")

    def test_no_rule_is_without_use(self):
        for name, text, _ in self.profiles:
            lines = text.splitlines(keepends=True)
            first = next(number for number, line in enumerate(lines) if line.startswith("profile "))
            for number, line in enumerate(lines[first + 1 :], first + 1):
                if line.strip().startswith(("#", "}")) or not line.strip():
                    continue
                less = "".join(lines[:number] + ["#\n"] + lines[number + 1 :])
                self.assertNotEqual(faults(parse(less), less), [], f"{name}: nothing here needs: {line.strip()}")

    def test_each_block_names_the_code_that_needs_it(self):
        for _, _, profile in self.profiles:
            for comment, rule in profile.blocks:
                words = (word.strip("(),.:;") for word in comment.split())
                named = [word for word in words if "/" in word and (TREE / word).is_file()]
                self.assertTrue(named, f"no file of the tree is named above: {rule}")

    def test_sockets_are_those_that_the_code_makes(self):
        for name, _, profile in self.profiles:
            given = {rule for rule in profile.others if rule.startswith("network")}
            self.assertEqual(given, sources.sockets_made(name))

    def test_of_a_device_exactly_what_scan_and_binding_need(self):
        attributes = sources.read_of_devices()
        self.assertEqual(len(attributes), 7, attributes)
        self.assertEqual(attributes & set(tables.CLOSED_ATTRIBUTES), set())
        there = list(pathlib.Path("/sys/bus/pci/devices").glob("*/*"))
        for name, _, profile in self.profiles:
            for file in there:
                if file.is_symlink() or not file.is_file():
                    continue
                place = f"/host{file.parent.resolve()}/{file.name}"
                may = "r" if file.name in attributes else WRITERS.get(file.name, "") if name == WRITER else ""
                self.assertEqual(allowed(profile, place), set("" if name == "vfiogate-gate" else may), place)

    def test_the_loader_finds_what_the_program_is_linked_with(self):
        for name, _, profile in self.profiles:
            for program in (PROGRAMS / "privd", PROGRAMS / name.replace("vfiogate", "privd")):
                if not program.is_file():
                    raise unittest.SkipTest(f"{program} is not built")
                for library in root_files.loaded_by(program):
                    place = "/" + root_files.in_usr(library)
                    self.assertEqual(allowed(profile, place), {"m", "r"}, place)


class Compiled(unittest.TestCase):
    def test_it_compiles_without_a_warning(self):
        for file in PROFILES.values():
            compiled = compiler.run(file, "--warn=all", "--Werror")
            self.assertEqual((compiled.returncode, compiled.stderr), (0, ""))

    def test_it_compiles_for_kernels_that_judge_less(self):
        """Rules that such a kernel does not know are left out, with a warning each: no other."""
        others = sorted(path.name for path in compiler.FEATURES.iterdir() if path.name.startswith("kernel-"))
        self.assertTrue(others)
        for kernel in others:
            for file in PROFILES.values():
                compiled = compiler.run(file, "--warn=all", kernel=kernel)
                self.assertEqual(compiled.returncode, 0, kernel)
                for line in compiled.stderr.splitlines():
                    self.assertRegex(line, "rules not enforced$", kernel)

    def test_a_broken_profile_does_not_compile(self):
        with tempfile.TemporaryDirectory() as directory:
            broken = pathlib.Path(directory) / "broken"
            broken.write_text(PROFILES[WRITER].read_text().rpartition("}")[0])
            self.assertNotEqual(compiler.run(broken).returncode, 0)

    def test_the_compiler_reads_it_as_we_do(self):
        for file in PROFILES.values():
            self.compare(file.read_text())

    def test_the_compiler_reads_other_globs_as_we_do(self):
        text = "abi <abi/3.0>,\n\nprofile x {\n"
        globs = ["/a/*", "/b/**", "/c/*/c", "/d/**/d", "/e/{,**/}e", "/f?", "/g[0-3x]", "/h[^b]c", "/{i,jk}/l"]
        globs += ["/m{,b}", "/{n,o{p,q}}", "/r,s", "/t.u", "/v/w*", "/y/*/"]
        self.compare(text + "".join(f"  {glob} r,\n" for glob in globs) + "}\n", self.paths_like(globs))

    @staticmethod
    def paths_like(globs: list[str]) -> list[str]:
        """For each of these globs, paths that it matches and paths that it almost matches."""
        paths = []
        for glob in globs:
            for part in ("", "b", "bc", "b/c", "/", "x", "0", "4"):
                path = glob.replace("{,**/}", "**/").replace("**", "*").replace("*", part).replace("?", part)
                path = path.replace("[0-3x]", part).replace("[^b]", part).replace("{,b}", part)
                paths += [path, f"{path}/", f"{path}b"]
        return [*paths, "/i/l", "/jk/l", "/j/l", "/n", "/op", "/oq", "/o", "/np", "/r", "/s", "/txu"]

    def compare(self, text: str, paths=()):
        profile = parse(text)
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "profile"
            file.write_text(text)
            automaton = compiler.Automaton(file)
        matched = 0
        for path in [*expected(WRITER), *paths]:
            given = allowed(profile, path)
            matched += bool(given)
            self.assertEqual(automaton.allowed(path), given, path)
        self.assertGreater(matched, 20)


def main():
    global PROGRAMS
    PROGRAMS, words = against_programs.arguments(__doc__)
    if compiler.found() is None:
        against_programs.skip("apparmor_parser is missing: apt-get install apparmor")
    against_programs.run(words)


if __name__ == "__main__":
    main()
