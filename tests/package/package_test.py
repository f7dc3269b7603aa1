#!/usr/bin/env python3
"""The Debian package of privd: that the same programs give the same bytes, what is in it and whose, that its scripts
bind nothing and leave the state, that manuals, completion and configuration say what the program says. Exit 77: it
cannot be made here."""

import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import bills  # noqa: E402

from package_case import BILL, CONFIGURATION, EARLY, EARLY_LINK, NAME, NEEDRESTART, ROLES, TARGET, TREE, UNITS, Built, build, run  # noqa: E402
from package_scripts import Installation  # noqa: E402, F401
from package_sockets import UnitSockets  # noqa: E402, F401
import manuals  # noqa: E402
from package_units import Unit  # noqa: E402, F401

NEEDED = ("help2man", "dpkg-deb", "dpkg-shlibdeps", "strip")


class Package(Built):
    def test_same_input_gives_same_bytes(self):
        self.assertEqual(build(self.directory / "two.deb").read_bytes(), self.archive.read_bytes())

    def test_has_these_files_and_no_others(self):
        manuals = {f"usr/share/man/man1/privd-{'-'.join(command.name.split())}.1.gz" for command in self.commands}
        self.assertEqual({member.name.removeprefix("./") for member in self.members if not member.isdir()}, manuals | {
            *(str(program.relative_to(self.root)) for program in self.own), *UNITS, TARGET, EARLY, EARLY_LINK, *NEEDRESTART, CONFIGURATION,
            "usr/lib/modules-load.d/vfiogate.conf", "usr/lib/tmpfiles.d/vfiogate.conf", "usr/lib/sysusers.d/vfiogate.conf",
            *(f"usr/share/man/man1/{program.name}.1.gz" for program in self.own),
            "usr/share/bash-completion/completions/privd", "usr/share/zsh/vendor-completions/_privd",
            "usr/share/fish/vendor_completions.d/privd.fish", f"usr/share/doc/{NAME}/copyright", f"usr/share/lintian/overrides/{NAME}",
            f"usr/share/doc/{NAME}/changelog.gz", BILL})

    def test_everything_is_roots_and_nobody_else_writes_it(self):
        for member in self.members:
            self.assertEqual((member.uid, member.gid), (0, 0), member.name)
            programs = [f"./{program.relative_to(self.root)}" for program in self.own]
            runs = member.isdir() or member.name in (*programs, *(f"./{name}" for name in NEEDRESTART))
            if not member.issym():
                self.assertEqual(oct(member.mode), oct(0o755 if runs else 0o644), member.name)

    def test_names_the_packages_that_its_programs_load_and_no_library_that_other_releases_name_otherwise(self):
        depends = run("dpkg-deb", "-f", self.archive, "Depends", check=True).stdout
        self.assertEqual({part.split()[0] for part in depends.split(",")}, {"libc6", "libgcc-s1", "libseccomp2", "libstdc++6"})

    def test_a_directory_in_the_place_of_the_file_is_refused(self):
        done = run(TREE / "deploy/debian/build_package.py", "--programs", Built.programs, "--out", self.directory)
        self.assertEqual((done.returncode, done.stderr), (1, f"build_package.py: {self.directory} is a directory: --out names the file\n"))

    def test_its_program_runs_from_where_it_is_put(self):
        version = run(self.programs / "privd", "--version", check=True).stdout
        for program in self.own:
            self.assertEqual(run(program, "--version", check=True).stdout, version)
        self.assertEqual(run("dpkg-deb", "-f", self.archive, "Version", check=True).stdout.strip(), version.split()[0])
        self.assertIn(run(self.program, "doctor").returncode, (0, 1))

    def test_its_bill_of_materials_names_its_files_and_what_its_program_loads(self):
        bill = json.loads((self.root / BILL).read_text())
        self.assertEqual(bills.bill_faults(bill), [])
        listed = {file["fileName"].removeprefix("./"): file["checksums"][1]["checksumValue"] for file in bill["files"]}
        there = {member.name.removeprefix("./") for member in self.members if member.isfile()} - {BILL}
        self.assertEqual(set(listed), there)
        said = " ".join(package.get("comment", "") for package in bill["packages"])
        for program in self.own:
            self.assertEqual(listed[f"usr/bin/{program.name}"], hashlib.sha256(program.read_bytes()).hexdigest())
            for path in re.findall(r"(/\S+) \(0x", run("ldd", program, check=True).stdout):
                self.assertRegex(said, rf"{re.escape(path)} is loaded by [^;]*\b{program.name}\b")

    def test_lintian_finds_nothing(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        self.assertEqual(run("lintian", "--allow-root", self.archive).stdout, "")

    def test_scripts_pass_shellcheck_and_touch_no_device(self):
        for script in (*(self.scripts / name for name in ("postinst", "prerm", "postrm")), *(self.root / name for name in NEEDRESTART)):
            checked = run("shellcheck", script)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            self.assertIsNone(re.search(r"/sys/(bus|devices|class)|driver_override|privd (un)?bind|/var/lib/vfiogate$",
                                        re.sub(r"(?m)^#.*", "", script.read_text())), script)


class Configuration(Built):
    def text(self) -> str:
        return (self.root / CONFIGURATION).read_text()

    def test_is_a_conffile(self):
        self.assertEqual((self.scripts / "conffiles").read_text(), "".join(f"/{name}\n" for name in (CONFIGURATION, *NEEDRESTART)))

    def test_has_each_option_with_its_default(self):
        serve = next(command for command in self.commands if command.name == "serve")
        # No options in options; and without a default, an example.
        said = {name[2:]: option.default for option in serve.options for name in option.names
                if name.startswith("--") and name not in ("--help", "--version", "--options")}
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
        text = re.sub(r"^#(?=[a-z-]+ \S+$)", "", self.text(), flags=re.MULTILINE)
        # A developer's kernel may have no Landlock, and there is no kubelet.
        options.write_text(text.replace("require-landlock true", "require-landlock false") + extra)
        places = [word for name in ("plugind", "state-dir", "record-dir", "kubelet-dir", "cdi-dir", "plugind-config", "audit-log")
                  for word in (f"--{name}", str(directory / name))]
        (directory / "state-dir").mkdir()
        with subprocess.Popen([self.program, "serve", "--options", options, *places], stderr=subprocess.PIPE, text=True) as daemon:
            said = ""
            for line in daemon.stderr:
                said += line
                if "event=started" in line:
                    break
            daemon.terminate()
        return said

    def test_declares_nothing_so_that_a_boot_binds_nothing(self):
        places = ("--state-dir", self.directory / "no-state")
        done = run(self.program, "bind", "--declared", "--options", self.root / CONFIGURATION, *places)
        self.assertEqual((done.returncode, done.stdout), (0, "nothing is declared\n"))
        self.assertFalse((self.directory / "no-state").exists())

    @unittest.skipIf(os.geteuid() != 0, "the daemon needs root")
    def test_is_what_the_daemon_takes(self):
        self.assertIn("event=started", self.serve(self.directory / "good", ""))
        refused = self.serve(self.directory / "bad", "no-such-option 1\n")
        self.assertNotIn("event=started", refused)
        self.assertIn("no-such-option", refused)


class Manuals(Built):
    def page(self, command) -> str:
        name = "-".join(["privd", *command.name.split()])
        return gzip.decompress((self.root / f"usr/share/man/man1/{name}.1.gz").read_bytes()).decode()

    def test_have_the_sections_that_people_look_for(self):
        for command in self.commands:
            for title in ("EXIT STATUS", "FILES", "SEE ALSO"):
                self.assertIn(f'.SH "{title}"' if " " in title else f".SH {title}", self.page(command), command.name)
            self.assertNotIn("Exit status:", self.page(command))
        bind = next(command for command in self.commands if command.name == "bind")
        self.assertIn(".SH EXAMPLES", self.page(bind))

    def test_of_all_programs_can_be_made(self):
        out = self.directory / "manuals"
        run(TREE / "deploy/debian/manuals.py", "--programs", self.programs, "--out", out, check=True)
        names = {path.name for path in out.iterdir()}
        self.assertLessEqual({"privd.1", "privd-audit-verify.1", "privd-hardware.1", "privd-gate.1", "privd-binder.1", "privd-iommufd.1", "plugind.1", "plugind-status.1", "netd.1", "netd-dra.1"}, names)
        for command in manuals.EXAMPLES:
            self.assertIn(f"{'-'.join(command.split())}.1", names, "an example of a command that there is not")

    def test_of_each_process_there_is_one_with_its_options(self):
        for role in ROLES:
            page = gzip.decompress((self.root / f"usr/share/man/man1/privd-{role}.1.gz").read_bytes()).decode().replace("\\-", "-")
            own = "--socket" if role == "iommufd" else "--plugind"
            for word in ("--options", own, ".SH FILES", "/etc/vfiogate/privd.conf"):
                self.assertIn(word, page, role)

    def test_have_each_option(self):
        for command in self.commands:
            page = self.page(command)
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
        names = [command.name for command in self.commands if " " not in command.name]
        self.assertEqual(self.completed("privd", ""), [*names, "-h", "--help", "--version"])
        for command in self.commands:
            known = command.commands + [name for option in command.options for name in option.names]
            self.assertEqual(self.completed("privd", *command.name.split(), "")[:len(known)], known)

    def test_knows_what_only_this_machine_knows(self):
        devices = sorted(os.listdir("/sys/bus/pci/devices"))
        self.assertEqual(self.completed("privd", "show", "0"), devices)
        self.assertEqual(self.completed("privd", "bind", "--driver", ""), sorted(os.listdir("/sys/bus/pci/drivers")))
        if devices:
            segment, bus, rest = devices[0].split(":")
            self.assertIn(f"{bus}:{rest}", self.completed("privd", "show", segment, ":", bus[0]))

    def test_knows_what_an_option_takes(self):
        self.assertEqual(self.completed("privd", "doctor", "-o", ""), ["text", "json", "yaml"])
        self.assertIn("boot-vga", self.completed("privd", "bind", "--override", ""))
        devices = sorted(os.listdir("/sys/bus/pci/devices"))
        self.assertEqual(self.completed("privd", "bind", "--override", "users", "="), devices)
        self.assertEqual(self.completed("privd", "bind", "--override", "=", "users", "="), devices)
        self.assertEqual(self.completed("privd", "list", "--state", "pass"), ["passable"])
        self.assertEqual(self.completed("privd", "audit", "ver"), ["verify"])
        self.assertEqual(sorted(self.completed("privd", "serve", "--uevents", "o")), ["off", "on"])
        self.assertEqual(self.completed("privd", "list", "--sysfs", "/sy"), ["/sys"])
        self.assertEqual(self.completed("privd", "serve", "--rescan", ""), [])

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_is_known_to_fish(self):
        file = self.root / "usr/share/fish/vendor_completions.d/privd.fish"
        ask = 'source $argv[1]; complete -C"privd unb"; complete -C"privd audit ver"; complete -C"privd bind --override boot"'
        said = run("fish", "-c", ask, file, check=True).stdout
        self.assertEqual([line.split("\t")[0] for line in said.splitlines()], ["unbind", "verify", "boot-vga"])

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_is_known_to_zsh(self):
        file = self.root / "usr/share/zsh/vendor-completions/_privd"
        ask = 'compadd() { shift; print -l -- "$@"; }; file=$1; shift; words=("$@"); CURRENT=$#; source $file'
        said = run("zsh", "-fc", ask, "zsh", file, "privd", "audit", "", check=True).stdout
        self.assertEqual(said.splitlines()[:3], ["show", "head", "verify"])

    def test_is_sound(self):
        checked = run("shellcheck", "--shell=bash", self.root / "usr/share/bash-completion/completions/privd")
        self.assertEqual(checked.returncode, 0, checked.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    wish, others = parser.parse_known_args()
    Built.programs = wish.programs.resolve()
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing or not (Built.programs / "privd-daemon").exists():
        print(f"skipped: {', '.join(missing) or Built.programs / 'privd-daemon'} not there")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *others])


if __name__ == "__main__":
    main()
