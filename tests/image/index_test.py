#!/usr/bin/env python3
"""The index of images of two architectures (deploy/image/join_images.py): what it names is in the archive, as large as it says and of the
digest that it says; the same images give the same bytes, and images that are none of one index are refused."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "deploy/image"))
import build_info  # noqa: E402
import oci  # noqa: E402
import target  # noqa: E402

JOIN = TREE / "deploy/image/join_images.py"


def image(sysroot: str, name: str = "localhost/toy:1") -> dict[str, bytes]:
    target.sysroot = sysroot
    return oci.image_of(f"of {sysroot}".encode(), name, build_info.BuildInfo("0.1.0", "abc", "then"), "2026-11-25T00:00:00Z", 1)


def blob(files: dict[str, bytes], reference: dict) -> bytes:
    found = files["blobs/sha256/" + reference["digest"].removeprefix("sha256:")]
    assert len(found) == reference["size"] and oci.digest_of(found) == reference["digest"]
    return found


class Index(unittest.TestCase):
    def setUp(self):
        self.images = [image("/arm64"), image("")]
        self.files = oci.joined(self.images)

    def test_names_each_image_by_its_architecture(self):
        (entry,) = json.loads(self.files["index.json"])["manifests"]
        self.assertEqual(entry["mediaType"], oci.INDEX)
        self.assertEqual(entry["annotations"]["io.containerd.image.name"], "localhost/toy:1")
        manifests = json.loads(blob(self.files, entry))["manifests"]
        architectures = [manifest["platform"]["architecture"] for manifest in manifests]
        self.assertEqual(sorted(architectures), architectures)
        self.assertIn("arm64", architectures)
        for manifest, architecture in zip(manifests, architectures):
            inside = json.loads(blob(self.files, manifest))
            self.assertEqual(json.loads(blob(self.files, inside["config"]))["architecture"], architecture)
            blob(self.files, inside["layers"][0])

    def test_has_the_digest_that_the_chart_takes(self):
        self.assertEqual(oci.manifest_digest(self.files), json.loads(self.files["index.json"])["manifests"][0]["digest"])
        self.assertNotIn(oci.manifest_digest(self.files), [oci.manifest_digest(one) for one in self.images])

    def test_is_the_same_whichever_image_comes_first(self):
        self.assertEqual(oci.joined(self.images[::-1]), self.files)

    def test_refuses_two_of_one_architecture_and_two_names(self):
        for images in ([self.images[0], self.images[0]], [self.images[0], image("", "localhost/other:1")]):
            with self.assertRaises(ValueError):
                oci.joined(images)

    def test_is_made_of_archives(self):
        with tempfile.TemporaryDirectory() as place:
            paths = [pathlib.Path(place, f"{number}.tar") for number in range(3)]
            for path, files in zip(paths, self.images):
                oci.write_archive(files, path, 0)
            subprocess.run([JOIN, *paths[:2], "--out", paths[2]], check=True, capture_output=True)
            self.assertEqual(oci.read_archive(paths[2]), self.files)
            said = subprocess.run([JOIN, paths[0], paths[0], "--out", paths[2]], capture_output=True, text=True)
            self.assertEqual(said.returncode, 1)
            self.assertIn("of different architectures: arm64", said.stderr)


if __name__ == "__main__":
    unittest.main()
