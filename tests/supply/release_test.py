#!/usr/bin/env python3
"""deploy/release.sh: that two runs give the same bytes, that the checksums and either tool's signature are taken by the tool itself and
a changed file and a foreign key are not, that the digests are those of the images, and that the simulators run where they are unpacked."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402
import bills  # noqa: E402

TREE = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("signify-openbsd", "minisign", "help2man", "dpkg-deb", "dpkg-shlibdeps", "strip")
PROGRAMS = pathlib.Path()


def run(*command, **others) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **others)


def version() -> str:
    return run(PROGRAMS / "privd", "--version").stdout.split()[0]


def release(out: pathlib.Path, *words, of: str = "") -> subprocess.CompletedProcess:
    return run(TREE / "deploy/release.sh", of or version(), "--out", out, "--programs", PROGRAMS, *words,
               env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}, stdin=subprocess.DEVNULL)


def signify_key(place: pathlib.Path, name: str) -> tuple[pathlib.Path, pathlib.Path]:
    public, secret = place / f"{name}.pub", place / f"{name}.sec"
    run("signify-openbsd", "-G", "-n", "-p", public, "-s", secret, check=True)
    return public, secret


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="vfiogate-release-")
        cls.addClassCleanup(cls.made.cleanup)
        cls.place = pathlib.Path(cls.made.name)
        cls.public, cls.secret = signify_key(cls.place, "ours")
        cls.mini_public, cls.mini_secret = cls.place / "mini.pub", cls.place / "mini.sec"
        run("minisign", "-G", "-W", "-p", cls.mini_public, "-s", cls.mini_secret, check=True)
        cls.one, cls.other = cls.place / "one", cls.place / "deeper/other"
        for out, words in ((cls.one, ("--signify", cls.secret)), (cls.other, ("--minisign", cls.mini_secret))):
            done = release(out, *words)
            if done.returncode != 0:
                raise AssertionError(done.stderr)

    def files(self, directory: pathlib.Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith("sig")}

    def test_two_runs_give_the_same_bytes(self):
        one, other = self.files(self.one), self.files(self.other)
        self.assertEqual(set(one), set(other))
        self.assertEqual([name for name in one if one[name] != other[name]], [])
        self.assertGreaterEqual(len(one), 11)

    def test_a_signature_is_the_same_when_it_is_made_again(self):
        again = self.place / "again"
        run("signify-openbsd", "-S", "-s", self.secret, "-m", self.one / "SHA256SUMS", "-x", again, check=True)
        self.assertEqual(again.read_bytes(), (self.one / "SHA256SUMS.sig").read_bytes())
        run("minisign", "-S", "-s", self.mini_secret, "-m", self.other / "SHA256SUMS", "-x", again, "-t", f"vfiogate {version()}", check=True)
        self.assertEqual(again.read_bytes(), (self.other / "SHA256SUMS.minisig").read_bytes())

    def verified(self, directory: pathlib.Path, public: pathlib.Path) -> bool:
        signed = run("signify-openbsd", "-V", "-p", public, "-m", "SHA256SUMS", "-x", "SHA256SUMS.sig", cwd=directory)
        return signed.returncode == 0 and run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=directory).returncode == 0

    def test_checksums_and_signature_are_taken_and_a_change_is_not(self):
        self.assertTrue(self.verified(self.one, self.public))
        foreign, _ = signify_key(self.place, "foreign")
        self.assertFalse(self.verified(self.one, foreign))
        names = {line.split()[1] for line in (self.one / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(names, set(self.files(self.one)) - {"SHA256SUMS"})
        for changed in ("SHA256SUMS", f"vfiogate-{version()}.tgz"):
            copy = self.place / f"copy-{changed}"
            shutil.copytree(self.one, copy)
            with open(copy / changed, "ab") as file:
                file.write(b"\n")
            self.assertFalse(self.verified(copy, self.public), changed)

    def test_minisign_takes_its_own(self):
        words = ("minisign", "-V", "-p", self.mini_public, "-m", self.other / "SHA256SUMS")
        self.assertIn(f"vfiogate {version()}", run(*words, check=True).stdout)

    def test_the_digests_are_those_of_the_images(self):
        said = (self.one / f"vfiogate-{version()}-digests.yaml").read_text()
        images = list(self.one.glob("*.oci.tar"))
        self.assertEqual(len(images), 2)
        for image in images:
            with tarfile.open(image) as tar:
                (manifest,) = json.load(tar.extractfile("index.json"))["manifests"]
                blob = tar.extractfile("blobs/" + manifest["digest"].replace(":", "/")).read()
            self.assertEqual(manifest["digest"], "sha256:" + hashlib.sha256(blob).hexdigest())
            self.assertIn(f'digest: "{manifest["digest"]}"', said)
            self.assertTrue(manifest["annotations"]["io.containerd.image.name"].endswith(f":{version()}"))

    def test_each_archive_has_a_bill_of_materials_beside_it(self):
        found = sorted(self.one.glob("*.spdx.json"))
        self.assertEqual(len(found), 4)
        for bill in found:
            self.assertEqual(bills.bill_faults(json.loads(bill.read_text())), [], bill.name)

    def test_the_simulators_run_where_they_are_unpacked(self):
        (archive,) = self.one.glob("vfiogate-simulators-*.tar.gz")
        clean = self.place / "clean"
        clean.mkdir()
        run("tar", "-xzf", archive, "-C", clean, check=True)
        (root,) = clean.iterdir()
        for name in ("README.md", "LICENSE", "share/man/man1/kubelet-sim-run.1", "share/doc/vfiogate/simulators/DEPENDS"):
            self.assertTrue((root / name).is_file(), name)
        topology = root / "share/doc/vfiogate/simulators/topologies/try.yaml"
        self.assertEqual(run(root / "bin/sim-sysfs", "check", topology).returncode, 0)
        directory = clean / "kubelet"
        with subprocess.Popen([root / "bin/kubelet-sim", "run", "--dir", directory], stdout=subprocess.PIPE, text=True) as kubelet:
            try:
                self.assertTrue(kubelet.stdout.readline(), "it ended without a word")
                asked = run(root / "bin/kubelet-sim", "ctl", directory, "get", "node")
                self.assertEqual(asked.returncode, 0, asked.stderr)
                self.assertTrue((directory / "device-plugins/kubelet.sock").is_socket())
            finally:
                kubelet.terminate()

    def test_another_version_a_missing_key_and_a_used_folder_are_refused(self):
        for words, said in ((("--signify", self.secret), "is of version"), (("--signify", self.place / "none"), "no such key")):
            done = release(self.place / "refused", *words, of="9.9.9" if said == "is of version" else "")
            self.assertEqual(done.returncode, 1, said)
            self.assertIn(said, done.stderr)
        done = release(self.one)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not empty", done.stderr)

    def test_help_is_help_and_a_missing_version_is_usage(self):
        helped, missed = run(TREE / "deploy/release.sh", "--help"), run(TREE / "deploy/release.sh")
        self.assertEqual((helped.returncode, missed.returncode), (0, 2))
        self.assertIn("VERSION is the tree's", helped.stdout)
        self.assertIn("deploy/release.sh VERSION", missed.stderr)


def main():
    global PROGRAMS
    PROGRAMS, words = against_programs.arguments(__doc__)
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        against_programs.skip(f"no {', '.join(missing)}")
    against_programs.run(words)


if __name__ == "__main__":
    main()
