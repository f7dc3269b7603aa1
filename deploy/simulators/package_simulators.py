#!/usr/bin/env python3
"""Packs the simulators with their manuals, pages, topologies and a bill of materials, from the built programs. The same programs
give the same bytes."""

import argparse
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "deploy/image"), str(TREE / "deploy/debian")]
import build_info  # noqa: E402
import build_package  # noqa: E402
import oci  # noqa: E402
import root_files  # noqa: E402
import sbom  # noqa: E402

PROGRAMS = ("kubelet-sim", "sim-node", "sim-sysfs")
BILL = "share/sbom/vfiogate-simulators.spdx.json"
DEPENDS = "share/doc/vfiogate/simulators/DEPENDS"


def installed(build_folder: pathlib.Path) -> dict[str, root_files.Entry]:
    """By the build's own list."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["cmake", "--install", build_folder, "--component", "simulators", "--prefix", "/packed"], check=True,
                       capture_output=True, text=True, env=os.environ | {"DESTDIR": place})
        root = pathlib.Path(place, "packed")
        return {str(path.relative_to(root)): root_files.Entry(path.read_bytes()) for path in root.rglob("*") if path.is_file()}


def packed(files: dict[str, root_files.Entry], directory: str, epoch: int) -> bytes:
    named = {f"{directory}/{name}": entry for name, entry in files.items()}
    return gzip.compress(oci.layer_of(named, (), epoch), 9, mtime=0)


def build(wish: argparse.Namespace) -> None:
    built = [wish.programs / name for name in PROGRAMS]
    for program in built:
        if not program.exists():
            raise LookupError(f"{program} is not there: cmake --build --preset release, or --programs DIR")
    epoch = build_info.epoch_of_tree()
    os.environ |= {"SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    version = build_info.of(built).version
    files = installed(wish.programs.parent)
    for program in built:
        files[f"bin/{program.name}"] = root_files.Entry(root_files.stripped(program), 0o755)
    files["LICENSE"] = root_files.Entry((TREE / "LICENSE").read_bytes())
    files["README.md"] = root_files.Entry((TREE / "deploy/simulators/README.md").read_bytes())
    files[DEPENDS] = root_files.Entry("".join(f"{each}\n" for each in build_package.libraries(built).split(", ")).encode())
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    files[BILL] = root_files.Entry(sbom.text_of("vfiogate-simulators", files, built, version, created))
    wish.out.write_bytes(packed(files, f"vfiogate-simulators-{version}", epoch))
    print(f"{wish.out}: vfiogate-simulators {version}, {wish.out.stat().st_size / 1e6:.1f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, default=TREE / "build/release/bin", metavar="DIR")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("vfiogate-simulators.tar.gz"), metavar="FILE")
    try:
        build(parser.parse_args())
        return 0
    except subprocess.CalledProcessError as failure:
        print(f"package_simulators.py: {failure}\n{failure.stderr}", file=sys.stderr)
    except (LookupError, OSError) as failure:
        print(f"package_simulators.py: {failure}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
