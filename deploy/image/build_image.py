#!/usr/bin/env python3
"""Makes the container image from the built programs, without a container engine: an OCI archive that
`ctr images import` and `podman load` take. The same programs and libraries give the same bytes."""

import argparse
import datetime
import pathlib
import subprocess
import sys

import build_info
import compiled_in
import oci
import root_files
import sbom
import vex

TREE = pathlib.Path(__file__).resolve().parents[2]
# Each container starts its own; privd-daemon, which starts several of privd's on a host, is not needed in one.
PROGRAMS = ("privd", "privd-hardware", "privd-gate", "privd-binder", "plugind", "netd")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("vfiogate.oci.tar"), metavar="FILE")
    parser.add_argument("--tag", default="dev", help="default: %(default)s")
    parser.add_argument("--name", default="localhost/vfiogate", help="the image's; default: %(default)s")
    return parser.parse_args()


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def build(wish: argparse.Namespace) -> None:
    programs = [wish.programs / name for name in PROGRAMS]
    for program in programs:
        if not program.exists():
            raise LookupError(f"{program} is not there: cmake --build --preset release, or --programs DIR")
    info = build_info.of(programs)
    epoch = build_info.epoch_of_tree()
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = root_files.collect(programs)
    files[vex.NAME] = root_files.Entry(vex.text_of(files, sorted(compiled_in.packages_in(programs)), wish.tag, created))
    files[sbom.NAME] = root_files.Entry(sbom.text_of("vfiogate-image", files, programs, wish.tag, created))
    layer = oci.layer_of(files, root_files.DIRECTORIES, epoch)
    image = oci.image_of(layer, f"{wish.name}:{wish.tag}", info, created)
    oci.write_archive(image, wish.out, epoch)
    used = {entry.package for entry in files.values() if entry.package}
    print(f"{wish.out}: {wish.name}:{wish.tag}, {info.version} of commit {info.commit}")
    print(f"  {megabytes(wish.out.stat().st_size)} packed, {megabytes(len(layer))} unpacked")
    print(f"  {len(files)} files, of {len(used)} Debian packages: {sbom.NAME}")


def main() -> int:
    try:
        build(arguments())
        return 0
    except (LookupError, OSError, subprocess.CalledProcessError) as failure:
        print(f"build_image.py: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
