"""The sockets that the package's units can reach, in what each sees of a host."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from package_case import ROLES, UNITS, Built

DIALS = pathlib.Path(__file__).with_name("unit_dials.py")
PLUGIND, LAUNCHERS = "/run/vfiogate/plugind.sock", "/run/vfiogate/iommufd/iommufd.sock"
KUBELET = "/var/lib/kubelet/device-plugins/kubelet.sock"
OWN = "/var/lib/vfiogate/foreign.sock"  # in the directory of state, where nobody else can make one
# sysfs and the kernel's device news need the host's network namespace, whose abstract names come with it.
REACHED = {"hardware": {PLUGIND, "@foreign"}, "gate": {PLUGIND, LAUNCHERS, KUBELET, OWN},
           "binder": {PLUGIND, LAUNCHERS, OWN, "@foreign"}, "iommufd": {LAUNCHERS}}


@unittest.skipUnless(os.geteuid() == 0, "needs root: it makes namespaces")
class UnitSockets(Built):
    def reached(self, unit: str, without: str = "") -> set[str]:
        """`without`: the unit lacks the lines of this key."""
        text = (self.root / unit).read_text()
        file = self.directory / pathlib.Path(unit).name
        file.write_text(re.sub(rf"^{without}=.*\n", "", text, flags=re.MULTILINE) if without else text)
        done = subprocess.run([sys.executable, DIALS, file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {name for name, answer in json.loads(done.stdout).items() if answer == "connected"}

    def test_are_its_own_alone(self):
        for role, unit in zip(ROLES, UNITS):
            with self.subTest(role):
                self.assertEqual(self.reached(unit), REACHED[role])

    def test_would_be_all_of_run_without_a_run_of_its_own(self):
        for role, unit in zip(ROLES, UNITS):
            with self.subTest(role):
                self.assertLessEqual({"/run/systemd/private", "/run/dbus/system_bus_socket", "/run/containerd/containerd.sock"},
                                     self.reached(unit, "TemporaryFileSystem"))

    def test_would_be_the_kubelets_and_the_host_s_names_without_what_hides_them(self):
        _, gate, binder, iommufd = UNITS
        self.assertIn(KUBELET, self.reached(binder, "InaccessiblePaths"))
        self.assertIn("/var/lib/kubelet/pods/foreign.sock", self.reached(gate, "InaccessiblePaths"))
        for unit in (gate, iommufd):
            self.assertIn("@foreign", self.reached(unit, "PrivateNetwork"))
