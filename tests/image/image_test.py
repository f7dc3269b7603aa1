#!/usr/bin/env python3
"""The container image: that it is one, that the same input gives the same bytes, that nothing is in it
which no package or program of ours accounts for, and that the programs run in its root and in nothing
else. Needs root for the latter. Exit 77: it cannot be run here."""

import hashlib
import io
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402
import bills  # noqa: E402
from unpacked_image import unpacked  # noqa: E402

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "deploy/image/build_image.py"
KERNEL = TREE / "tests/machine/fetch_kernel.sh"
SBOM = "usr/share/sbom/vfiogate.spdx.json"
VEX = "usr/share/sbom/vfiogate.openvex.json"
SHIPPED = ("privd", "privd-hardware", "privd-gate", "privd-binder", "plugind", "netd")
PROGRAMS = pathlib.Path()


def build(directory: pathlib.Path, name: str, *others: str) -> pathlib.Path:
    out = directory / name
    command = [BUILD, "--programs", PROGRAMS, "--out", out, "--tag", "test", "--level", "3", *others]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return out


class Contents:
    """What holds for each image."""

    """`kind`: what the image is made with."""

    kind: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.place.name)
        cls.archive = build(cls.directory, "image.tar", *cls.kind)
        with tarfile.open(cls.archive) as tar:
            cls.parts = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
        cls.index = json.loads(cls.parts["index.json"])
        cls.manifest = json.loads(cls.blob(cls.index["manifests"][0]))
        cls.config = json.loads(cls.blob(cls.manifest["config"]))
        cls.layer = unpacked(cls.blob(cls.manifest["layers"][0]))
        cls.root = cls.directory / "root"
        with tarfile.open(fileobj=io.BytesIO(cls.layer)) as tar:
            cls.members = tar.getmembers()
            tar.extractall(cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def blob(cls, descriptor):
        return cls.parts["blobs/" + descriptor["digest"].replace(":", "/")]

    def inside(self, *command):
        """Runs in the root, with /proc, /sys and /dev as a runtime makes them."""
        script = (
            'mount -t proc proc "$1/proc"; '
            'mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"; root=$1; shift; exec chroot "$root" "$@"'
        )
        whole = ["unshare", "--mount", "sh", "-c", script, "sh", str(self.root), *command]
        return subprocess.run(whole, capture_output=True, text=True)

    def assert_same_again(self):
        again = build(self.directory, "again.tar", *self.kind)
        self.assertEqual(self.archive.read_bytes(), again.read_bytes())

    def test_digests_and_sizes_are_true(self):
        self.assertEqual(json.loads(self.parts["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        for descriptor in [*self.index["manifests"], self.manifest["config"], *self.manifest["layers"]]:
            data = self.blob(descriptor)
            self.assertEqual(descriptor["digest"], "sha256:" + hashlib.sha256(data).hexdigest())
            self.assertEqual(descriptor["size"], len(data))
        unpacked = "sha256:" + hashlib.sha256(self.layer).hexdigest()
        self.assertEqual(self.config["rootfs"]["diff_ids"], [unpacked])

    def test_owned_by_root_and_writable_by_nobody_else(self):
        for member in self.members:
            self.assertEqual((member.uid, member.gid), (0, 0), member.name)
            if not member.issym() and member.name != "tmp":
                self.assertEqual(member.mode & 0o7022, 0, member.name)

    def test_the_bill_of_materials_is_complete(self):
        bill = json.loads((self.root / SBOM).read_text())
        listed = {f["fileName"].removeprefix("./"): f for f in bill["files"]}
        there = {m.name for m in self.members if m.isfile()} - {SBOM}
        self.assertEqual(set(listed), there)
        for name, entry in listed.items():
            sums = {s["algorithm"]: s["checksumValue"] for s in entry["checksums"]}
            self.assertEqual(sums["SHA256"], hashlib.sha256((self.root / name).read_bytes()).hexdigest())
        owned = {r["relatedSpdxElement"] for r in bill["relationships"] if r["relationshipType"] == "CONTAINS"}
        self.assertEqual(owned, {f["SPDXID"] for f in bill["files"]})

    def bill(self) -> tuple[dict, dict[str, dict]]:
        bill = json.loads((self.root / SBOM).read_text())
        return bill, {package["name"]: package for package in bill["packages"]}

    def test_the_bill_of_materials_is_well_formed(self):
        bills.check_the_checker()
        self.assertEqual(bills.bill_faults(self.bill()[0]), [])


class Image(Contents, unittest.TestCase):
    def test_same_input_gives_same_bytes(self):
        self.assert_same_again()

    def test_it_says_of_which_commit_it_is(self):
        says = subprocess.run([PROGRAMS / "privd", "--version"], check=True, capture_output=True, text=True).stdout
        version, commit = re.fullmatch(r"(\S+) \(commit (\S+), \S+\)\n", says).groups()
        for told in (self.config["config"]["Labels"], self.manifest["annotations"]):
            self.assertEqual(told["org.opencontainers.image.version"], version)
            self.assertIn(commit, told["org.opencontainers.image.revision"])
            self.assertEqual(told["org.opencontainers.image.created"], "2023-11-14T22:13:20Z")

    def test_whoever_says_nothing_is_not_root(self):
        self.assertEqual(self.config["config"]["User"], "64532:64532")
        self.assertNotIn("Entrypoint", self.config["config"])

    def test_each_user_of_the_pod_has_a_name_and_no_other_has(self):
        users = dict(re.findall(r"(?m)^([a-z]+):x:(\d+):", (self.root / "etc/passwd").read_text()))
        self.assertEqual(users, {"root": "0", "hardware": "64531", "plugind": "64532", "netd": "64533"})

    def test_there_is_no_shell_nor_package_manager(self):
        programs = sorted(path.name for path in (self.root / "usr/bin").iterdir())
        self.assertEqual(programs, sorted(SHIPPED))
        executable = {m.name for m in self.members if m.isfile() and m.mode & 0o111}
        loader = {name for name in executable if "/ld-linux" in name}
        ours = {f"usr/bin/{name}" for name in SHIPPED}
        self.assertEqual(executable, ours | loader)
        self.assertEqual([member.name for member in self.members if "kmod" in member.name], [], "what loads modules has an image of its own")

    def related(self, kind: str) -> set[str]:
        """The packages at the other end of vfiogate's relations of this kind."""
        bill, packages = self.bill()
        names = {package["SPDXID"]: name for name, package in packages.items()}
        ends = {r[end] for r in bill["relationships"] if r["relationshipType"] == kind for end in ("spdxElementId", "relatedSpdxElement")}
        return {names[end] for end in ends if end in names} - {"vfiogate"}

    def test_every_shared_object_that_a_program_loads_is_in_the_bill(self):
        _, packages = self.bill()
        said = " ".join(package.get("comment", "") for package in packages.values())
        for program in SHIPPED:
            loaded = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", PROGRAMS / program], check=True, capture_output=True, text=True).stdout)
            self.assertGreater(len(loaded), 3)
            for path in loaded:
                self.assertRegex(said, rf"{re.escape(path)} is loaded by [a-z, -]*{program}")

    def test_what_is_compiled_in_and_what_compiled_it_is_in_the_bill(self):
        for name in ("nlohmann-json3-dev", "libcli11-dev", "libcapnp-dev", "libgrpc++-dev", "libabsl-dev", "libprotobuf-dev", "libmd-dev", "libstdc++-12-dev", "libc6-dev", "libgcc-12-dev"):
            self.assertIn(name, self.related("STATIC_LINK"))
        self.assertIn("g++-12", self.related("BUILD_TOOL_OF"))

    def test_each_package_has_the_version_that_is_installed_and_says_where_its_licence_is(self):
        _, packages = self.bill()
        for name, package in packages.items():
            if name == "vfiogate":
                continue
            told = subprocess.run(["dpkg-query", "-Wf", "${Version}\n", name], check=True, capture_output=True, text=True).stdout
            self.assertIn(package["versionInfo"], told.split("\n"))
            notice = package["licenseComments"].split()[0].rstrip(",").lstrip("/")
            if name in self.related("DEPENDS_ON"):
                self.assertTrue((self.root / notice).is_file(), name)
        self.assertEqual(packages["libseccomp2"]["licenseDeclared"], "LGPL-2.1-only")
        self.assertEqual(packages["libcli11-dev"]["licenseDeclared"], "BSD-3-Clause")

    def test_the_flaws_that_are_judged_are_of_packages_in_the_bill(self):
        flaws, (_, packages) = json.loads((self.root / VEX).read_text()), self.bill()
        self.assertEqual(bills.flaw_faults(flaws), [])
        named = {name for statement in flaws["statements"] for name in bills.components(statement)}
        self.assertEqual(named - set(packages), set())
        self.assertIn("libc6", named)
        fixed = {s["vulnerability"]["name"] for s in flaws["statements"] if s["status"] == "fixed"}
        self.assertIn("CVE-2025-0838", fixed)

    def test_a_program_that_is_missing_is_named(self):
        other = self.directory / "broken"
        other.mkdir()
        failed = subprocess.run(
            [BUILD, "--programs", other, "--out", other / "image.tar"], capture_output=True, text=True
        )
        self.assertEqual(failed.returncode, 1)
        self.assertIn("privd is not there", failed.stderr)

    def test_the_programs_run_in_it(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: chroot and mounts")
        listed = self.inside("/usr/bin/privd", "list", "-o", "json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("devices", json.loads(listed.stdout))
        (self.root / "etc/vfiogate/plugind.yaml").write_bytes((TREE / "deploy/examples/plugind.yaml").read_bytes())
        checked = self.inside("/usr/bin/plugind", "--check-config", "--config", "/etc/vfiogate/plugind.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertEqual(self.inside("/bin/sh", "-c", "true").returncode, 127)

    def test_each_program_can_live_under_its_filter_in_it(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: chroot and mounts")
        (self.root / "tmp").mkdir(exist_ok=True)
        (self.root / "tmp").chmod(0o1777)
        for program in ("privd", "plugind", "netd"):
            with self.subTest(program=program):
                tried = self.inside(f"/usr/bin/{program}", "policy", "--self-test")
                self.assertEqual(tried.returncode, 0, tried.stdout + tried.stderr)
                self.assertIn(f"passed: {program} can live under its filters here", tried.stdout)


class Modules(Contents, unittest.TestCase):
    kind = ("--modules",)

    def test_same_input_gives_same_bytes(self):
        self.assert_same_again()

    def test_has_modprobe_and_no_program_of_ours(self):
        self.assertEqual(sorted(path.name for path in (self.root / "usr/bin").iterdir()), ["kmod", "modprobe"])
        self.assertEqual(os.readlink(self.root / "usr/bin/modprobe"), "kmod")
        self.assertEqual({m.name for m in self.members if m.isfile() and m.mode & 0o111 and "/ld-linux" not in m.name}, {"usr/bin/kmod"})

    def test_its_bill_has_what_it_loads_and_nothing_that_compiles(self):
        bill, packages = self.bill()
        self.assertLessEqual({"kmod", "libc6", "libssl3"}, set(packages))
        self.assertNotIn("g++-12", packages)
        self.assertLessEqual({name for statement in json.loads((self.root / VEX).read_text())["statements"]
                              for name in bills.components(statement)}, set(packages))

    def test_modprobe_finds_vfio_pci_among_the_modules_of_a_node(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: chroot and mounts")
        kernel = subprocess.run([KERNEL, kernel_cache()], capture_output=True, text=True)
        if kernel.returncode != 0:
            self.skipTest(kernel.stderr.strip() or "no kernel package")
        modules = pathlib.Path(kernel.stdout.strip().splitlines()[-1]) / "lib/modules"
        (version,) = os.listdir(modules)
        there = self.root / "host/lib/modules"
        there.mkdir(parents=True, exist_ok=True)
        shutil.copytree(modules / version, there / version, ignore=all_but_vfio, dirs_exist_ok=True)
        command = ["/usr/bin/modprobe", "--dirname=/host", "--set-version", version]
        found = self.inside(*command, "--show-depends", "vfio-pci")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertRegex(found.stdout, rf"(?m)^insmod /host/lib/modules/{version}/kernel/drivers/vfio/vfio.ko")
        self.assertRegex(found.stdout, r"(?m)^insmod \S*/vfio-pci.ko *$")
        self.assertEqual(self.inside(*command, "--dry-run", "--all", "vfio-pci").returncode, 0)
        missing = self.inside(*command, "--dry-run", "--all", "vfio-pic")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("Module vfio-pic not found", missing.stderr)


def kernel_cache() -> pathlib.Path:
    """Where the virtual machine's tests keep it, too."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("VFIOGATE_MACHINE_CACHE") or pathlib.Path(base) / "vfiogate/kernel")


def all_but_vfio(directory: str, names: list[str]) -> list[str]:
    """Of the modules those that vfio-pci needs; the indexes are whole."""
    return [name for name in names if ".ko" in name and "vfio" not in name and not name.startswith("irqbypass")]


def main():
    global PROGRAMS
    PROGRAMS, words = against_programs.arguments(__doc__)
    against_programs.run(words)


if __name__ == "__main__":
    main()
