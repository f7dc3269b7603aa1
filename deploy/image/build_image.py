#!/usr/bin/env python3
"""Makes the container image from the built programs, without a container engine: an OCI archive that
`ctr images import` and `podman load` take. The same programs and libraries give the same bytes.
With --modules the small one for `modules: init`, which has Debian's modprobe and no program of ours."""

import argparse
import datetime
import pathlib
import subprocess
import sys

import build_info
import oci
import root_files
import sbom
import target
import vex

TREE = pathlib.Path(__file__).resolve().parents[2]
# Each container starts its own; privd-daemon, which starts several of privd's on a host, is not needed in one.
PROGRAMS = ("privd", "privd-hardware", "privd-gate", "privd-binder", "plugind", "netd")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    parser.add_argument("--sysroot", type=pathlib.Path, metavar="DIR", help="the programs are ARM64's, built against it (tests/arm64.sh)")
    parser.add_argument("--modules", action="store_true", help="the image that loads vfio-pci, in place of the main one")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="default: vfiogate.oci.tar, vfiogate-modules.oci.tar")
    parser.add_argument("--bill", type=pathlib.Path, metavar="FILE", help="where its bill of materials goes, too")
    parser.add_argument("--level", type=int, choices=range(1, 20), default=19, metavar="LEVEL",
                        help="how hard zstd tries, from 1 to 19; default: %(default)s, which takes some ten seconds")
    parser.add_argument("--tag", default="dev", help="default: %(default)s")
    parser.add_argument("--name", default="localhost/vfiogate", help="the image's; default: %(default)s, and -modules behind it")
    wish = parser.parse_args()
    if wish.modules:
        wish.name += "-modules"
    wish.out = wish.out or pathlib.Path(f"{wish.name.rpartition('/')[2]}.oci.tar")
    return wish


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def build(wish: argparse.Namespace) -> None:
    target.use(wish.sysroot)
    programs = [wish.programs / name for name in PROGRAMS]
    for program in programs:
        if not program.exists():
            raise LookupError(f"{program} is not there: cmake --build --preset release, or --programs DIR")
    info = build_info.of(programs)
    epoch = build_info.epoch_of_tree()
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    shipped = [] if wish.modules else programs
    files = root_files.collect_modules() if wish.modules else root_files.collect(programs)
    directories = root_files.MODULES_DIRECTORIES if wish.modules else root_files.DIRECTORIES
    inside = sorted(sbom.parts_of(tuple(shipped)).compiled_in)
    files[vex.NAME] = root_files.Entry(vex.text_of(files, inside, sbom.packages_named(files, shipped), wish.tag, created))
    files[sbom.NAME] = root_files.Entry(sbom.text_of(f"{wish.name.rpartition('/')[2]}-image", files, shipped, wish.tag, created))
    layer = oci.layer_of(files, directories, epoch)
    image = oci.image_of(layer, f"{wish.name}:{wish.tag}", info, created, wish.level)
    oci.write_archive(image, wish.out, epoch)
    if wish.bill:
        wish.bill.write_bytes(files[sbom.NAME].content)
    used = {entry.package for entry in files.values() if entry.package}
    print(f"{wish.out}: {wish.name}:{wish.tag}, {info.version} of commit {info.commit}")
    print(f"  {oci.manifest_digest(image)}")
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
