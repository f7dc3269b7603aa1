"""The units of the package: what systemd says of them, when they run and what they may open."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from package_case import BINDER, EARLY, EARLY_LINK, IOMMUFD, NAME, ROLES, TARGET, UNITS, Built, run

# Calls that privd makes before its own filter is on, or to put it on.
BEFORE_THE_FILTER = {"capset", "prctl", "prlimit64", "close_range", "execve", "landlock_create_ruleset", "landlock_add_rule",
                     "landlock_restrict_self", "openat2", "seccomp"}


class Unit(Built):
    def text(self, unit: str) -> str:
        return (self.root / unit).read_text()

    def values(self, unit: str, key: str) -> list[str]:
        return " ".join(re.findall(rf"^{key}=(.*)", self.text(unit), re.MULTILINE)).split()

    def systemd(self, *words) -> subprocess.CompletedProcess:
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        return run("systemd-analyze", *words)

    def test_is_one_that_systemd_takes(self):
        for name in (TARGET, EARLY, *UNITS):
            # Its program is elsewhere here, and its manuals are not installed.
            unit = self.directory / pathlib.Path(name).name
            text = (self.root / name).read_text().replace("/usr/bin/privd", str(self.program))
            unit.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE))
        for name in (TARGET, EARLY, *UNITS):
            unit = self.directory / pathlib.Path(name).name
            checked = self.systemd("verify", "--man=no", unit)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""), name)
        unit.write_text(unit.read_text().replace("ProtectHome=yes", "ProtectHome=perhaps"))
        self.assertIn("perhaps", self.systemd("verify", "--man=no", unit).stderr)

    def test_the_early_one_is_wanted_and_comes_before_all_who_would_take_a_device(self):
        self.assertEqual(os.readlink(self.root / EARLY_LINK), f"../{NAME}-early.service")
        text = (self.root / EARLY).read_text()
        before = " ".join(re.findall(r"^Before=(.*)", text, re.MULTILINE)).split()
        for unit in ("sysinit.target", "network-pre.target", "display-manager.service", "vfiogate-binder.service"):
            self.assertIn(unit, before)
        for unit in ("kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "snap.microk8s.daemon-kubelite", "containerd", "crio",
                     "libvirtd", "virtqemud", "libvirt-guests", "pve-guests"):
            self.assertIn(f"{unit}.service", before)
        (command,) = re.findall(r"^ExecStart=/usr/bin/privd (.*)", text, re.MULTILINE)
        helped = run(self.program, "bind", "--help").stdout
        for word in re.findall(r"--[a-z-]+", command):
            self.assertRegex(helped, rf"  {word} ")

    def circle(self, before: str = "") -> str:
        """What systemd says of a circle, with the early unit before these, too, beside a multipathd that is ordered as Debian's."""
        place = self.directory / "boot"
        place.mkdir(exist_ok=True)
        text = re.sub(r"^Documentation=.*\n", "", self.text(EARLY), flags=re.MULTILINE).replace("/usr/bin/privd", str(self.program))
        early = f"{NAME}-early.service"
        (place / early).write_text(text.replace("[Service]", f"Before={before}\n[Service]"))
        (place / "multipathd.service").write_text(
            "[Unit]\nDefaultDependencies=no\nBefore=local-fs-pre.target\n[Service]\nExecStart=/bin/true\n")
        (place / "boot.target").write_text(f"[Unit]\nWants={early} multipathd.service local-fs.target local-fs-pre.target\n")
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        # What is in the list and then the machine's own units.
        said = run("systemd-analyze", "verify", "--man=no", "boot.target", env=os.environ | {"SYSTEMD_UNIT_PATH": f"{place}:"}).stderr
        return "".join(line for line in said.splitlines() if "cycle" in line)

    def test_the_early_one_waits_for_nobody_who_waits_for_it(self):
        """multipathd comes before the file systems, of which one has the state: an order before it would be a circle."""
        self.assertEqual(self.circle(), "")
        self.assertIn("ordering cycle", self.circle("multipathd.service"))

    def test_each_starts_its_own_program_and_goes_with_the_target(self):
        for role, unit in zip(ROLES, UNITS):
            self.assertEqual(self.values(unit, "ExecStart"), [f"/usr/bin/privd-{role}", "--options", "/etc/vfiogate/privd.conf"])
            self.assertEqual((self.values(unit, "PartOf"), self.values(unit, "WantedBy")), (["vfiogate.target"], ["vfiogate.target"]))
            self.assertEqual(self.values(unit, "CapabilityBoundingSet"), ["CAP_SYS_RESOURCE"] if role == "iommufd" else [])
            self.assertEqual((self.values(unit, "NoNewPrivileges"), self.values(unit, "ProtectSystem")), (["yes"], ["strict"]))

    def test_the_target_brings_the_binder_alone(self):
        """As the one unit did for who runs no plugind: the others are enabled by who does."""
        self.assertEqual(self.values(TARGET, "Wants"), ["vfiogate-binder.service"])
        self.assertEqual(self.values(TARGET, "WantedBy"), ["multi-user.target"])

    def test_hardware_has_a_user_of_its_own_and_writes_nowhere(self):
        unit = UNITS[0]
        self.assertEqual((self.values(unit, "User"), self.values(unit, "Group")), (["64531"], ["64531"]))
        users = re.findall(r"^u \S+ (\d+) ", self.text("usr/lib/sysusers.d/vfiogate.conf"), re.MULTILINE)
        self.assertEqual(users, ["64531"])
        self.assertEqual([*self.values(unit, "ReadWritePaths"), *self.values(unit, "BindPaths"), *self.values(unit, "StateDirectory"),
                          *self.values(unit, "LogsDirectory"), *self.values(unit, "DeviceAllow")], [])
        self.assertEqual(self.values(unit, "ProtectKernelTunables"), ["yes"])
        self.assertLessEqual({"-/var/lib/kubelet", "-/var/lib/vfiogate", "-/var/log/vfiogate", "-/run/vfiogate/devices"},
                             set(self.values(unit, "InaccessiblePaths")))

    def test_what_ends_is_started_again_however_often(self):
        """By its default systemd gives a unit up that ended five times in ten seconds."""
        again = [unit for unit in (EARLY, *UNITS) if self.values(unit, "Restart")]
        self.assertEqual(again, list(UNITS))
        for unit in again:
            before, _, after = self.text(unit).partition("[Service]")
            self.assertIn("\nStartLimitIntervalSec=0\n", before, unit)
            self.assertIn("\nRestart=always\nRestartSec=2\n", after, unit)

    def test_none_has_a_directory_that_every_user_writes(self):
        """systemd's ProtectSystem=strict leaves out /dev, with what is mounted below it; PrivateTmp= is one more to write in."""
        for unit in UNITS:
            self.assertLessEqual({"/tmp", "/var/tmp", "/dev/shm", "-/dev/mqueue"}, set(self.values(unit, "InaccessiblePaths")), unit)
            self.assertEqual(self.values(unit, "PrivateTmp"), [], unit)
            self.assertTrue(self.values(unit, "ReadOnlyPaths") == ["/dev"] or self.values(unit, "PrivateDevices") == ["yes"], unit)

    def test_the_gate_has_no_hardware_and_the_binder_nothing_of_the_kubelets(self):
        gate, binder = UNITS[1:3]
        self.assertLessEqual({"/sys", "-/var/log/vfiogate"}, set(self.values(gate, "InaccessiblePaths")))
        self.assertEqual((self.values(gate, "PrivateDevices"), self.values(gate, "PrivateNetwork")), (["yes"], ["yes"]))
        self.assertEqual(self.values(gate, "RestrictAddressFamilies"), ["AF_UNIX"])
        self.assertIn("-/var/lib/kubelet", self.values(binder, "InaccessiblePaths"))
        self.assertNotIn("kubelet", " ".join(self.values(binder, "ReadWritePaths") + self.values(binder, "BindPaths")))
        self.assertNotIn("cdi", " ".join(self.values(binder, "ReadWritePaths") + self.values(binder, "BindPaths")))

    def test_the_one_for_launchers_has_one_device_and_nothing_of_the_others(self):
        self.assertEqual(self.values(IOMMUFD, "DeviceAllow"), ["/dev/iommu", "rw"])
        self.assertEqual((self.values(IOMMUFD, "DevicePolicy"), self.values(IOMMUFD, "PrivateNetwork")), (["closed"], ["yes"]))
        self.assertLessEqual({"/sys", "-/var/lib/kubelet", "-/var/lib/vfiogate", "-/var/log/vfiogate"},
                             set(self.values(IOMMUFD, "InaccessiblePaths")))
        self.assertNotIn("iommufd", self.text(TARGET))

    def test_of_run_each_sees_its_own_alone(self):
        """Sockets of others, such as systemd's and D-Bus's, would be open to a process of root's."""
        for unit in UNITS:
            self.assertEqual(self.values(unit, "TemporaryFileSystem"), ["/run:ro"])
            seen = self.values(unit, "BindReadOnlyPaths") + self.values(unit, "BindPaths")
            self.assertLessEqual(set(seen), {"-/run/vfiogate", "-/run/vfiogate/devices", "-/run/cdi"}
                                 if unit != IOMMUFD else {"-/run/vfiogate/iommufd"}, unit)

    def test_what_they_see_of_run_is_made_before_they_start(self):
        """Their /run is read-only: a directory that is not there when the unit starts is not there for as long as it runs."""
        made = re.findall(r"^d (\S+) ", self.text("usr/lib/tmpfiles.d/vfiogate.conf"), re.MULTILINE)
        for unit in (EARLY, *UNITS):
            seen = [word for key in ("BindReadOnlyPaths", "BindPaths", "ReadWritePaths") for word in self.values(unit, key)]
            for word in seen:
                if word.startswith("-/run"):
                    self.assertIn(word.removeprefix("-"), made, unit)
            self.assertIn("systemd-tmpfiles-setup.service", self.values(unit, "After"), unit)

    def test_both_may_open_what_keeps_others_out_and_write_the_audit_log(self):
        for name in (BINDER, EARLY):
            text = (self.root / name).read_text()
            for line in ("DevicePolicy=closed", "DeviceAllow=block-* r", "DeviceAllow=char-vfio rw", "LogsDirectory=vfiogate",
                         "LogsDirectoryMode=0700"):
                self.assertIn(f"\n{line}\n", text, name)
            self.assertNotIn("ProtectKernelTunables=", text)

    def test_is_exposed_little(self):
        for name in (*(pathlib.Path(unit).stem for unit in UNITS), f"{NAME}-early"):
            judged = self.systemd("security", "--offline=true", f"--root={self.root}", "--threshold=25", f"{name}.service")
            self.assertEqual(judged.returncode, 0, judged.stdout)

    def test_its_filter_lets_through_what_the_process_s_own_does(self):
        for role, unit in zip(ROLES, UNITS):
            with self.subTest(role):
                self.lets_through(role, self.values(unit, "SystemCallFilter"))

    def lets_through(self, role: str, groups: list[str]):
        allowed, seen = set(), set()
        while groups:
            name = groups.pop()
            if not name.startswith("@"):
                allowed.add(name)
            elif name not in seen:
                seen.add(name)
                listed = self.systemd("syscall-filter", name).stdout.splitlines()
                groups += [line.strip() for line in listed[1:] if line.strip() and not line.strip().startswith("#")]
        policy = json.loads(run(self.program, "policy", role, "-o", "json", check=True).stdout)
        own = {call["call"] for table in (policy, policy.get("forked", {"rows": []})) for row in table["rows"]
               for call in (row, *row["alternatives"])}
        self.assertGreater(len(own), 10)
        self.assertEqual((own | BEFORE_THE_FILTER) - allowed, set())
