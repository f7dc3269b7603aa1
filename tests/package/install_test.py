#!/usr/bin/env python3
"""`cmake --install`: what each component puts where, that units start the programs of their prefix, that what is installed runs;
and BUILD_TESTING=OFF: that it looks for no package of the tests' and builds what is installed, and nothing else."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402

TREE = pathlib.Path(__file__).resolve().parents[2]
TOOL = {"privd"}
DAEMON = {"privd-daemon", "privd-hardware", "privd-gate", "privd-binder", "privd-iommufd"}
PLUGIN = {"plugind", "netd"}
SIMULATORS = {"kubelet-sim", "sim-sysfs", "sim-node"}
UNITS = {f"vfiogate-{name}.service" for name in ("hardware", "gate", "binder", "iommufd", "privd-early")} | {"vfiogate.target"}
PROGRAMS = pathlib.Path()
# Says that a package of the tests' is not there, and passes every other question on.
PKG_CONFIG = """#!/bin/sh
case "$*" in *fuse3*|*gtest*|*gmock*) exit 1;; esac
exec pkg-config "$@"
"""
HIDDEN = """set(CMAKE_DISABLE_FIND_PACKAGE_GTest ON)
"""


def run(*command, **others) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **others)


class Place(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="vfiogate-install-")
        self.addCleanup(made.cleanup)
        self.place = pathlib.Path(made.name)


class Install(Place):
    def installed(self, component: str, prefix: str = "/usr") -> set[str]:
        done = run("cmake", "--install", PROGRAMS.parent, "--component", component, "--prefix", prefix,
                   env=os.environ | {"DESTDIR": str(self.place)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return {str(path.relative_to(self.place)) for path in self.place.rglob("*") if not path.is_dir()}

    def test_the_tool_is_the_command_and_its_completions(self):
        self.assertEqual(self.installed("tool"), {
            "usr/bin/privd", "usr/share/bash-completion/completions/privd", "usr/share/zsh/site-functions/_privd",
            "usr/share/fish/vendor_completions.d/privd.fish"})
        for path in (self.place / "usr/share").rglob("*privd*"):
            self.assertIn("privd", path.read_text())

    def test_the_daemon_is_its_processes_and_what_systemd_needs_of_them(self):
        self.assertEqual(self.installed("daemon"), {
            *(f"usr/bin/{name}" for name in DAEMON), *(f"usr/lib/systemd/system/{name}" for name in UNITS),
            *(f"usr/lib/{kind}.d/vfiogate.conf" for kind in ("sysusers", "tmpfiles", "modules-load")), "etc/vfiogate/privd.conf"})

    def test_the_plugin_is_what_the_cluster_has(self):
        self.assertEqual(self.installed("plugin"), {f"usr/bin/{name}" for name in PLUGIN})

    @unittest.skipUnless(shutil.which("help2man"), "there is no help2man")
    def test_the_docs_have_a_manual_of_each_program_and_the_licence(self):
        there = self.installed("docs")
        self.assertLessEqual({f"usr/share/man/man1/{name}.1" for name in (TOOL | DAEMON | PLUGIN) - {"privd-daemon"}}, there)
        self.assertLessEqual({f"usr/share/doc/vfiogate/{name}" for name in ("LICENSE", "README.md", "docs/install.md", "deploy/examples/plugind.yaml")}, there)

    @unittest.skipUnless(shutil.which("help2man"), "there is no help2man")
    def test_the_simulators_have_their_pages_and_topologies(self):
        there = self.installed("simulators", "/opt/sim")
        for name in SIMULATORS:
            self.assertLessEqual({f"opt/sim/bin/{name}", f"opt/sim/share/man/man1/{name}.1"}, there)
        self.assertIn("opt/sim/share/doc/vfiogate/simulators/kubelet-sim.md", there)
        topologies = self.place / "opt/sim/share/doc/vfiogate/simulators/topologies"
        checked = run(self.place / "opt/sim/bin/sim-sysfs", "check", topologies / "try.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_units_start_the_programs_of_their_prefix(self):
        for prefix in ("/usr", "/opt/elsewhere"):
            self.installed("daemon", prefix)
            self.installed("tool", prefix)
            root = self.place / prefix.lstrip("/")
            started = [line for unit in (root / "lib/systemd/system").iterdir()
                       for line in re.findall(r"(?m)^Exec\w+=[-+!@:]*(\S+)", unit.read_text())]
            self.assertGreaterEqual(len(started), 4)
            for program in started:
                self.assertTrue(os.access(self.place / program.lstrip("/"), os.X_OK), f"{prefix}: {program}")

    def test_what_is_installed_says_its_version(self):
        for component in ("tool", "daemon", "plugin", "simulators"):
            self.installed(component)
        programs = list((self.place / "usr/bin").iterdir())
        self.assertEqual({program.name for program in programs}, TOOL | DAEMON | PLUGIN | SIMULATORS)
        for program in programs:
            said = run(program, "--version").stdout
            self.assertRegex(said, r"^\S+ \(commit \S+, \S+\)\n$", program.name)
            self.assertEqual(said, run(PROGRAMS / program.name, "--version").stdout)


class WithoutTests(Place):
    def configured(self, *options: str) -> subprocess.CompletedProcess:
        hidden, pkg_config = self.place / "hidden.cmake", self.place / "pkg-config"
        hidden.write_text(HIDDEN)
        pkg_config.write_text(PKG_CONFIG)
        pkg_config.chmod(0o755)
        # CMAKE_PROJECT_INCLUDE: a switch on the command line that nothing reads would be warned of.
        return run("cmake", "-S", TREE, "-B", self.place / "build", "-G", "Ninja", f"-DCMAKE_PROJECT_INCLUDE={hidden}",
                   f"-DPKG_CONFIG_EXECUTABLE={pkg_config}", *options)

    def made(self, kind: str) -> set[str]:
        targets = run("ninja", "-C", self.place / "build", "-t", "targets", "all").stdout
        return set(re.findall(rf"(?m)^(\S+): CXX_{kind}_LINKER", targets))

    def test_needs_no_package_of_the_tests_and_builds_what_is_installed(self):
        done = self.configured("-DBUILD_TESTING=OFF")
        self.assertEqual(done.returncode, 0, done.stderr)
        programs = self.made("EXECUTABLE")
        self.assertEqual(programs, {f"bin/{name}" for name in TOOL | DAEMON | PLUGIN})
        inputs = set(run("ninja", "-C", self.place / "build", "-t", "inputs", *programs).stdout.split())
        self.assertEqual(self.made("STATIC_LIBRARY") - inputs, set(), "compiled for nothing")

    def test_tests_and_simulators_say_what_they_miss(self):
        for options, package in (((), "libgtest-dev"), (("-DBUILD_TESTING=OFF", "-DVFIOGATE_SIMULATORS=ON"), "libfuse3-dev"),
                                 (("-DBUILD_TESTING=ON", "-DVFIOGATE_SIMULATORS=OFF"), "The tests use the simulators")):
            shutil.rmtree(self.place / "build", ignore_errors=True)
            done = self.configured(*options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertIn(package, done.stderr)


def main():
    global PROGRAMS
    PROGRAMS, words = against_programs.arguments(__doc__)
    if not (PROGRAMS.parent / "cmake_install.cmake").exists():
        against_programs.skip(f"{PROGRAMS.parent} is no build folder")
    against_programs.run(words)


if __name__ == "__main__":
    main()
