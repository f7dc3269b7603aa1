"""What installing, removing and restarting do, and what they leave alone."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from package_case import CONFIGURATION, EARLY_LINK, NAME, NEEDRESTART, ROLES, Built, run

MADE = ("systemctl daemon-reload", "systemd-sysusers vfiogate.conf", "systemd-tmpfiles --create vfiogate.conf")
ALL = " ".join(f"vfiogate-{role}.service" for role in ROLES)


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
        for name in ("systemctl", "systemd-sysusers", "systemd-tmpfiles", "deb-systemd-invoke"):
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

    @unittest.skipIf(os.geteuid() != 0, "dpkg needs root")
    def test_installing_and_removing_call_nothing_of_privds_that_changes_a_binding(self):
        privd = self.stubs / "privd"
        privd.write_text(f'#!/bin/sh\necho "privd $*" >>"{self.calls}"\n')
        privd.chmod(0o755)
        self.assertEqual(self.dpkg("--install", self.archive).returncode, 0)
        self.assertTrue((self.target / EARLY_LINK).is_symlink())
        self.assertEqual(self.dpkg("--install", self.archive).returncode, 0)
        self.assertEqual(self.dpkg("--purge", NAME).returncode, 0)
        self.assertFalse((self.target / EARLY_LINK).is_symlink())
        said = self.calls.read_text() if self.calls.exists() else ""
        self.assertNotRegex(said, r"privd (un)?bind|-early| start | restart ")
        privd.unlink()

    def test_a_purge_ends_what_enabling_linked(self):
        wanted = self.target / "etc/systemd/system"
        links = [wanted / "multi-user.target.wants/vfiogate.target",
                 *(wanted / f"vfiogate.target.wants/vfiogate-{role}.service" for role in ROLES)]
        for link in links:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to("nowhere")
        script = (self.scripts / "postrm").read_text().replace("/etc/systemd/system", str(wanted))
        for act, left in (("remove", links), ("purge", [])):
            done = run("sh", "-c", script, "postrm", act, env=os.environ | {"PATH": f"{self.stubs}:{os.environ['PATH']}"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([link for link in links if link.is_symlink()], left)

    @unittest.skipIf(os.geteuid() != 0, "the self-test needs root")
    def test_its_own_program_passes_its_self_test(self):
        done = run(self.program, "policy", "--self-test")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_restart_after_an_update_of_libraries_waits_for_the_self_test(self):
        for status, wanted in (("1", 1), ("0", 0)):
            privd = self.stubs / "privd"
            privd.write_text(f'#!/bin/sh\necho "privd $*" >>"{self.calls}"\nexit {status}\n')
            privd.chmod(0o755)
            for role, script in zip(ROLES, NEEDRESTART):
                self.calls.unlink(missing_ok=True)
                done = run(self.root / script, env=os.environ | {"PATH": f"{self.stubs}:{os.environ['PATH']}"})
                self.assertEqual(done.returncode, wanted)
                restarted = [line for line in self.calls.read_text().splitlines() if "restart" in line]
                self.assertEqual(restarted, [f"systemctl restart vfiogate-{role}.service"] if wanted == 0 else [])
                self.assertEqual("its self-test failed" in done.stderr, wanted == 1)
        privd.unlink()

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

    def test_restarts_what_runs_only_after_the_self_test(self):
        restart = f"deb-systemd-invoke try-restart {ALL}"
        self.failing = "1"
        calls, said = self.postinst("  --self-test   tries the filter")
        self.assertEqual(calls, [*MADE, "privd policy --self-test"])
        self.assertIn("what runs was left as it is", said)
        self.failing = "0"
        self.assertEqual(self.postinst("  --self-test   tries the filter")[0],
                         [*MADE, "privd policy --self-test", restart])
        self.failing = "1"
        self.assertEqual(self.postinst("  -o FORM")[0], [*MADE, restart])
