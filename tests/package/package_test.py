#!/usr/bin/env python3
"""The Debian package of privd: that the same program gives the same bytes, what is in it and whose, that its scripts
bind nothing and leave the state, that manuals, completion and configuration say what the program says. Exit 77: it
cannot be made here."""

import argparse
import functools
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "deploy/debian"))
import program_help  # noqa: E402

BUILD = TREE / "deploy/debian/build_package.py"
NAME = "vfiogate-privd"
UNIT = f"lib/systemd/system/{NAME}.service"
CONFIGURATION = "etc/vfiogate/privd.conf"
PROGRAMS = pathlib.Path()
NEEDED = ("help2man", "dpkg-deb", "dpkg-shlibdeps", "strip")
# Calls that privd makes before its own filter is on, or to put it on.
BEFORE_THE_FILTER = {"capset", "prctl", "prlimit64", "close_range", "execve", "openat2", "seccomp", "unshare"}


def run(*command, **others) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **others)


def build(out: pathlib.Path) -> pathlib.Path:
    done = run(BUILD, "--programs", PROGRAMS, "--out", out, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return out


@functools.cache
def place() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="vfiogate-package-")


@functools.cache
def built() -> pathlib.Path:
    return build(pathlib.Path(place().name, "one.deb"))


class Built(unittest.TestCase):
    """What every case looks at: the package, and what is in it."""

    @classmethod
    def setUpClass(cls):
        cls.archive = built()
        cls.directory = pathlib.Path(tempfile.mkdtemp(dir=place().name))
        cls.root = cls.directory / "root"
        cls.scripts = cls.directory / "control"
        run("dpkg-deb", "-x", cls.archive, cls.root, check=True)
        run("dpkg-deb", "-e", cls.archive, cls.scripts, check=True)
        cls.program = cls.root / "usr/bin/privd"
        cls.commands = program_help.commands_of(cls.program)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", cls.archive], stdout=subprocess.PIPE) as listing:
            with tarfile.open(fileobj=listing.stdout, mode="r|") as tar:
                cls.members = list(tar)


class Package(Built):
    def test_same_input_gives_same_bytes(self):
        self.assertEqual(build(self.directory / "two.deb").read_bytes(), self.archive.read_bytes())

    def test_has_these_files_and_no_others(self):
        manuals = {f"usr/share/man/man1/privd-{command.name}.1.gz" for command in self.commands}
        self.assertEqual({member.name.removeprefix("./") for member in self.members if not member.isdir()}, manuals | {
            "usr/bin/privd", UNIT, CONFIGURATION, "usr/lib/modules-load.d/vfiogate.conf", "usr/share/man/man1/privd.1.gz",
            "usr/share/bash-completion/completions/privd", f"usr/share/doc/{NAME}/copyright",
            f"usr/share/doc/{NAME}/changelog.gz"})

    def test_everything_is_roots_and_nobody_else_writes_it(self):
        for member in self.members:
            self.assertEqual((member.uid, member.gid), (0, 0), member.name)
            runs = member.isdir() or member.name == "./usr/bin/privd"
            self.assertEqual(oct(member.mode), oct(0o755 if runs else 0o644), member.name)

    def test_names_the_packages_that_its_program_loads(self):
        depends = run("dpkg-deb", "-f", self.archive, "Depends", check=True).stdout
        for package in ("libc6", "libcapnp", "libseccomp2", "libmd0", "libstdc++6"):
            self.assertIn(package, depends)

    def test_its_program_runs_from_where_it_is_put(self):
        version = run(PROGRAMS / "privd", "--version", check=True).stdout
        self.assertEqual(run(self.program, "--version", check=True).stdout, version)
        self.assertEqual(run("dpkg-deb", "-f", self.archive, "Version", check=True).stdout, version)
        self.assertIn(run(self.program, "doctor").returncode, (0, 1))

    def test_lintian_finds_nothing(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        self.assertEqual(run("lintian", "--allow-root", self.archive).stdout, "")

    def test_scripts_pass_shellcheck_and_touch_no_device(self):
        for name in ("postinst", "prerm", "postrm"):
            script = self.scripts / name
            checked = run("shellcheck", script)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            self.assertIsNone(re.search(r"/sys/(bus|devices|class)|driver_override|privd (un)?bind|/var/lib/vfiogate$",
                                        re.sub(r"(?m)^#.*", "", script.read_text())), name)


class Configuration(Built):
    def text(self) -> str:
        return (self.root / CONFIGURATION).read_text()

    def test_is_a_conffile(self):
        self.assertEqual((self.scripts / "conffiles").read_text(), f"/{CONFIGURATION}\n")

    def test_has_each_option_with_its_default(self):
        serve = next(command for command in self.commands if command.name == "serve")
        # No options in options; and without a default, an example.
        said = {name[2:]: option.default for option in serve.options for name in option.names
                if name.startswith("--") and name not in ("--help", "--options")}
        written = dict(re.findall(r"^#([a-z-]+) (\S+)$", self.text(), re.MULTILINE))
        self.assertEqual(set(written), set(said))
        for name, default in said.items():
            if default:
                self.assertEqual(written[name], default, name)

    def test_changes_nothing_as_it_is_installed(self):
        for line in self.text().splitlines():
            self.assertTrue(not line or line.startswith("#"), line)

    def serve(self, directory: pathlib.Path, extra: str) -> str:
        """What the daemon says on stderr, up to its start or its end, with every default written out."""
        directory.mkdir()
        options = directory / "privd.conf"
        options.write_text(re.sub(r"^#(?=[a-z-]+ \S+$)", "", self.text(), flags=re.MULTILINE) + extra)
        places = [word for name in ("socket", "plugind", "state-dir", "kubelet-dir", "cdi-dir", "plugind-config")
                  for word in (f"--{name}", str(directory / name))]
        (directory / "state-dir").mkdir()
        with subprocess.Popen([self.program, "serve", "--options", options, *places], stderr=subprocess.PIPE, text=True) as daemon:
            said = ""
            for line in daemon.stderr:
                said += line
                if line.startswith("event=started"):
                    break
            daemon.terminate()
        return said

    @unittest.skipIf(os.geteuid() != 0, "the daemon needs root")
    def test_is_what_the_daemon_takes(self):
        self.assertIn("event=started", self.serve(self.directory / "good", ""))
        refused = self.serve(self.directory / "bad", "no-such-option 1\n")
        self.assertNotIn("event=started", refused)
        self.assertIn("no-such-option", refused)


class Manuals(Built):
    def test_have_each_option(self):
        for command in self.commands:
            page = gzip.decompress((self.root / f"usr/share/man/man1/privd-{command.name}.1.gz").read_bytes()).decode()
            plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
            self.assertIn(".SH NAME", plain)
            self.assertNotIn("/tmp", plain)
            for option in command.options:
                self.assertIn(",".join(option.names), plain, command.name)


class Completion(Built):
    def completed(self, *words: str) -> list[str]:
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _privd; printf "%s\\n" "${COMPREPLY[@]}"'
        file = self.root / "usr/share/bash-completion/completions/privd"
        done = run("bash", "-euc", script, "bash", file, *words, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_knows_each_subcommand_and_option(self):
        names = [command.name for command in self.commands]
        self.assertEqual(self.completed("privd", ""), [*names, "--help", "--version"])
        for command in self.commands:
            options = [name for option in command.options for name in option.names]
            self.assertEqual(self.completed("privd", command.name, ""), options)

    def test_knows_what_an_option_takes(self):
        self.assertEqual(self.completed("privd", "doctor", "-o", ""), ["text", "json"])
        self.assertEqual(sorted(self.completed("privd", "serve", "--uevents", "o")), ["off", "on"])
        self.assertEqual(self.completed("privd", "list", "--sysfs", "/sy"), ["/sys"])
        self.assertEqual(self.completed("privd", "serve", "--rescan", ""), [])

    def test_is_sound(self):
        checked = run("shellcheck", "--shell=bash", self.root / "usr/share/bash-completion/completions/privd")
        self.assertEqual(checked.returncode, 0, checked.stdout)


class Unit(Built):
    def text(self) -> str:
        return (self.root / UNIT).read_text()

    def systemd(self, *words) -> subprocess.CompletedProcess:
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        return run("systemd-analyze", *words)

    def test_is_one_that_systemd_takes(self):
        # Its program is elsewhere here, and its manuals are not installed.
        unit = self.directory / f"{NAME}.service"
        unit.write_text(re.sub(r"^Documentation=.*\n", "", self.text().replace("/usr/bin/privd", str(self.program)), flags=re.MULTILINE))
        checked = self.systemd("verify", "--man=no", unit)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        unit.write_text(self.text().replace("ProtectHome=yes", "ProtectHome=perhaps"))
        self.assertIn("perhaps", self.systemd("verify", "--man=no", unit).stderr)

    def test_is_exposed_little(self):
        judged = self.systemd("security", "--offline=true", f"--root={self.root}", "--threshold=25", f"{NAME}.service")
        self.assertEqual(judged.returncode, 0, judged.stdout)

    def test_its_filter_lets_through_what_privds_own_does(self):
        groups = [word for line in re.findall(r"^SystemCallFilter=(.*)", self.text(), re.MULTILINE) for word in line.split()]
        allowed, seen = set(), set()
        while groups:
            name = groups.pop()
            if not name.startswith("@"):
                allowed.add(name)
            elif name not in seen:
                seen.add(name)
                listed = self.systemd("syscall-filter", name).stdout.splitlines()
                groups += [line.strip() for line in listed[1:] if line.strip() and not line.strip().startswith("#")]
        policy = json.loads(run(self.program, "policy", "-o", "json", check=True).stdout)
        own = {row["call"] for table in (policy, policy["forked"]) for row in table["rows"]}
        self.assertGreater(len(own), 30)
        self.assertEqual((own | BEFORE_THE_FILTER) - allowed, set())


class Installation(Built):
    """By dpkg itself, into a root of its own. What its scripts ask of systemd goes to stubs."""

    def dpkg(self, *words) -> subprocess.CompletedProcess:
        return run("dpkg", f"--root={self.target}", "--force-depends", "--force-script-chrootless", "--force-not-root",
                   "--log=/dev/null", *words, env=os.environ | {"PATH": f"{self.stubs}:{os.environ['PATH']}"})

    def setUp(self):
        self.target = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        self.stubs = self.directory / "stubs"
        (self.target / "var/lib/dpkg").mkdir(parents=True)
        (self.target / "var/lib/dpkg/status").touch()
        self.stubs.mkdir(exist_ok=True)
        self.calls = self.target / "calls"
        for name in ("systemctl", "deb-systemd-invoke"):
            stub = self.stubs / name
            stub.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\n')
            stub.chmod(0o755)

    @unittest.skipIf(os.geteuid() != 0, "dpkg needs root")
    def test_removing_and_purging_leave_the_state(self):
        installed = self.dpkg("--install", self.archive)
        self.assertEqual(installed.returncode, 0, installed.stderr)
        state = self.target / "var/lib/vfiogate/0000:01:00.0"
        state.parent.mkdir(parents=True)
        state.write_text("driver=nouveau\n")
        configuration = self.target / CONFIGURATION
        configuration.write_text("rescan 30\n")
        self.assertEqual(self.dpkg("--remove", NAME).returncode, 0)
        self.assertFalse((self.target / "usr/bin/privd").exists())
        self.assertEqual(configuration.read_text(), "rescan 30\n")
        self.assertEqual(self.dpkg("--purge", NAME).returncode, 0)
        self.assertFalse(configuration.exists())
        self.assertEqual(state.read_text(), "driver=nouveau\n")

    def postinst(self, self_test: str) -> tuple[list[str], str]:
        """What the script asks of systemd when privd's policy has or has not a self-test, and what it says."""
        privd = self.stubs / "privd"
        privd.write_text(f'#!/bin/sh\n[ "$*" = "policy --help" ] && {{ echo "{self_test}"; exit; }}\n'
                         f'echo "privd $*" >>"{self.calls}"\n[ "$*" = "policy --self-test" ] && exit "$SELF_TEST"\n')
        privd.chmod(0o755)
        # As if systemd ran.
        script = (self.scripts / "postinst").read_text().replace("/run/systemd/system", str(self.target))
        self.calls.unlink(missing_ok=True)
        done = run("sh", "-c", script, "postinst", "configure",
                   env=os.environ | {"PATH": f"{self.stubs}:{os.environ['PATH']}", "SELF_TEST": self.failing})
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.calls.read_text().splitlines(), done.stderr

    def test_restarts_a_running_daemon_only_after_its_self_test(self):
        restart = f"deb-systemd-invoke try-restart {NAME}.service"
        self.failing = "1"
        calls, said = self.postinst("  --self-test   tries the filter")
        self.assertEqual(calls, ["systemctl daemon-reload", "privd policy --self-test"])
        self.assertIn("the running daemon was left as it is", said)
        self.failing = "0"
        self.assertEqual(self.postinst("  --self-test   tries the filter")[0],
                         ["systemctl daemon-reload", "privd policy --self-test", restart])
        self.failing = "1"
        self.assertEqual(self.postinst("  -o FORM")[0], ["systemctl daemon-reload", restart])


def main() -> None:
    global PROGRAMS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    wish, others = parser.parse_known_args()
    PROGRAMS = wish.programs.resolve()
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing or not (PROGRAMS / "privd").exists():
        print(f"skipped: {', '.join(missing) or PROGRAMS / 'privd'} not there")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *others])


if __name__ == "__main__":
    main()
