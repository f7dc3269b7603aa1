"""An OCI image of one layer, as the archive that containerd and podman import, and an index of such images."""

import hashlib
import io
import json
import pathlib
import subprocess
import tarfile

from build_info import BuildInfo
from root_files import Entry
import target

LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def as_json(value: dict) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def header(name: str, kind: bytes, mode: int, epoch: int) -> tarfile.TarInfo:
    """Owned by root, of one time: the same input makes the same bytes."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime = kind, mode, epoch
    info.uname = info.gname = "root"
    return info


def parents(names: list[str]) -> set[str]:
    return {
        str(parent)
        for name in names
        for parent in pathlib.PurePosixPath(name).parents
        if str(parent) != "."
    }


def layer_of(files: dict[str, Entry], directories: tuple[str, ...], epoch: int) -> bytes:
    """An uncompressed tar. Parents come before what is in them."""
    out = io.BytesIO()
    everywhere = parents(list(files)) | parents(list(directories)) | set(directories)
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(everywhere | set(files)):
            if name in files and files[name].link:
                info = header(name, tarfile.SYMTYPE, 0o777, epoch)
                info.linkname = files[name].link
                tar.addfile(info)
            elif name in files:
                info = header(name, tarfile.REGTYPE, files[name].mode, epoch)
                info.size = len(files[name].content)
                tar.addfile(info, io.BytesIO(files[name].content))
            else:
                tar.addfile(header(name, tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755, epoch))
    return out.getvalue()


def labels_of(info: BuildInfo, created: str) -> dict[str, str]:
    """Labels of the image and annotations of its manifest: some tools read these, some those."""
    return {
        "org.opencontainers.image.title": "vfiogate",
        "org.opencontainers.image.version": info.version,
        "org.opencontainers.image.revision": info.commit,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.created": created,
    }


def packed_by_zstd(data: bytes, level: int) -> bytes:
    """A quarter smaller than by gzip."""
    return subprocess.run(["zstd", f"-{level}", "--quiet", "--stdout"], input=data, check=True, capture_output=True).stdout


def image_of(layer: bytes, name: str, info: BuildInfo, created: str, level: int) -> dict[str, bytes]:
    """The archive's files by name. `name`: with its tag. `level`: zstd's, 1 to 19."""
    packed = packed_by_zstd(layer, level)
    config = as_json(
        {
            "architecture": target.architecture(),
            "os": "linux",
            "created": created,
            # privd-gate's and privd-binder's containers say runAsUser 0; whoever forgets to say anything is nobody.
            "config": {"User": "64532:64532", "Env": ["PATH=/usr/bin"], "WorkingDir": "/",
                       "Labels": labels_of(info, created)},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]},
            "history": [{"created": created, "created_by": "vfiogate deploy/image"}],
        }
    )
    manifest = as_json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": digest_of(config), "size": len(config)},
            "layers": [{"mediaType": LAYER, "digest": digest_of(packed), "size": len(packed)}],
            "annotations": labels_of(info, created),
        }
    )
    platform = {"platform": {"architecture": target.architecture(), "os": "linux"}}
    return layout_of(reference(MANIFEST, manifest) | platform | named(name), (config, manifest, packed))


def reference(kind: str, blob: bytes) -> dict:
    return {"mediaType": kind, "digest": digest_of(blob), "size": len(blob)}


def named(name: str) -> dict:
    """The first is podman's, the second containerd's."""
    return {"annotations": {"org.opencontainers.image.ref.name": name.rpartition(":")[2], "io.containerd.image.name": name}}


def layout_of(entry: dict, blobs: tuple[bytes, ...]) -> dict[str, bytes]:
    """The archive's files by name; `entry` says what an importer takes."""
    index = as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]})
    files = {"oci-layout": as_json({"imageLayoutVersion": "1.0.0"}), "index.json": index}
    return files | {"blobs/sha256/" + digest_of(blob).removeprefix("sha256:"): blob for blob in blobs}


def joined(images: list[dict[str, bytes]]) -> dict[str, bytes]:
    """One archive of images of one name, each of another architecture, with an index of which a node takes its own.
    ValueError: they differ in name, or two are of one architecture."""
    entries = [entry for files in images for entry in json.loads(files["index.json"])["manifests"]]
    names = {entry["annotations"]["io.containerd.image.name"] for entry in entries}
    platforms = {entry["platform"]["architecture"] for entry in entries}
    if len(names) != 1 or len(platforms) != len(entries):
        raise ValueError(f"no images of one name and of different architectures: {', '.join(sorted(names | platforms))}")
    entries = [{key: value for key, value in entry.items() if key != "annotations"} for entry in entries]
    index = as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": sorted(entries, key=lambda entry: entry["platform"]["architecture"])})
    blobs = {name: blob for files in images for name, blob in files.items() if name.startswith("blobs/")}
    return layout_of(reference(INDEX, index) | named(names.pop()), (index,)) | blobs


def manifest_digest(files: dict[str, bytes]) -> str:
    """By which a registry and the chart's image.digest name the image, or the index."""
    return json.loads(files["index.json"])["manifests"][0]["digest"]


def read_archive(path: pathlib.Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def write_archive(files: dict[str, bytes], path: pathlib.Path, epoch: int) -> None:
    with tarfile.open(path, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for directory in sorted(parents(list(files))):
            tar.addfile(header(directory, tarfile.DIRTYPE, 0o755, epoch))
        for name in sorted(files):
            info = header(name, tarfile.REGTYPE, 0o644, epoch)
            info.size = len(files[name])
            tar.addfile(info, io.BytesIO(files[name]))
