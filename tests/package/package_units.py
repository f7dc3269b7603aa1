"""The units of the package: what systemd says of them, when they run and what they may open."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from package_case import EARLY, EARLY_LINK, NAME, UNIT, Built, run

# Calls that privd makes before its own filter is on, or to put it on.
BEFORE_THE_FILTER = {"capset", "prctl", "prlimit64", "close_range", "execve", "landlock_create_ruleset", "landlock_add_rule",
                     "landlock_restrict_self", "openat2", "seccomp"}


class Unit(Built):
    def text(self) -> str:
        return (self.root / UNIT).read_text()

    def systemd(self, *words) -> subprocess.CompletedProcess:
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        return run("systemd-analyze", *words)

    def test_is_one_that_systemd_takes(self):
        for name in (EARLY, UNIT):
            # Its program is elsewhere here, and its manuals are not installed.
            unit = self.directory / pathlib.Path(name).name
            text = (self.root / name).read_text().replace("/usr/bin/privd", str(self.program))
            unit.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE))
            checked = self.systemd("verify", "--man=no", unit)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        unit.write_text(unit.read_text().replace("ProtectHome=yes", "ProtectHome=perhaps"))
        self.assertIn("perhaps", self.systemd("verify", "--man=no", unit).stderr)

    def test_the_early_one_is_wanted_and_comes_before_all_who_would_take_a_device(self):
        self.assertEqual(os.readlink(self.root / EARLY_LINK), f"../{NAME}-early.service")
        text = (self.root / EARLY).read_text()
        before = " ".join(re.findall(r"^Before=(.*)", text, re.MULTILINE)).split()
        for unit in ("sysinit.target", "network-pre.target", "display-manager.service", f"{NAME}.service"):
            self.assertIn(unit, before)
        (command,) = re.findall(r"^ExecStart=/usr/bin/privd (.*)", text, re.MULTILINE)
        helped = run(self.program, "bind", "--help").stdout
        for word in re.findall(r"--[a-z-]+", command):
            self.assertRegex(helped, rf"  {word} ")

    def test_both_may_open_what_keeps_others_out_and_write_the_audit_log(self):
        for name in (UNIT, EARLY):
            text = (self.root / name).read_text()
            for line in ("DevicePolicy=closed", "DeviceAllow=block-* r", "DeviceAllow=char-vfio rw", "LogsDirectory=vfiogate",
                         "LogsDirectoryMode=0700"):
                self.assertIn(f"\n{line}\n", text, name)
            self.assertNotIn("ProtectKernelTunables=", text)

    def test_is_exposed_little(self):
        for name in (NAME, f"{NAME}-early"):
            judged = self.systemd("security", "--offline=true", f"--root={self.root}", "--threshold=25", f"{name}.service")
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
