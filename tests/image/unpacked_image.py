"""The image, built from the programs and unpacked as a runtime unpacks it."""

import io
import json
import os
import pathlib
import subprocess
import tarfile

BUILD = pathlib.Path(__file__).resolve().parents[2] / "deploy/image/build_image.py"


def unpacked(layer: bytes) -> bytes:
    return subprocess.run(["zstd", "--decompress", "--quiet", "--stdout"], input=layer, check=True, capture_output=True).stdout


class UnpackedImage:
    """`reference`: under which name a node knows it; `environment`: what its processes get."""

    def __init__(self, programs: pathlib.Path, reference: str, place: pathlib.Path):
        archive = place / "image.tar"
        command = [BUILD, "--programs", programs, "--out", archive, "--level", "3", "--tag", reference.rpartition(":")[2]]
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run(command, check=True, capture_output=True, env=environment)
        with tarfile.open(archive) as tar:
            parts = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
        archive.unlink()
        entry = json.loads(parts["index.json"])["manifests"][0]
        self.reference = entry["annotations"]["io.containerd.image.name"]
        manifest = json.loads(self.blob(parts, entry))
        config = json.loads(self.blob(parts, manifest["config"]))["config"]
        self.environment = dict(line.split("=", 1) for line in config["Env"])
        self.root = place / "root"
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(unpacked(self.blob(parts, layer)))) as tar:
                tar.extractall(self.root)

    @staticmethod
    def blob(parts: dict[str, bytes], descriptor: dict) -> bytes:
        return parts["blobs/" + descriptor["digest"].replace(":", "/")]
