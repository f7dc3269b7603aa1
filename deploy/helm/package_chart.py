#!/usr/bin/env python3
"""Packs the chart as `helm package` does, and says in it of which commit it is: Chart.yaml gets the annotations
vfiogate.dev/commit and vfiogate.dev/date, which the chart puts onto its DaemonSets. The same commit gives the same bytes."""

import argparse
import datetime
import gzip
import io
import pathlib
import re
import subprocess
import sys
import tarfile

CHART = pathlib.Path(__file__).resolve().parent / "vfiogate"
sys.path.insert(0, str(CHART.parents[1] / "image"))
import build_info  # noqa: E402
import oci  # noqa: E402


def annotated(chart: str, commit: str, epoch: int) -> str:
    date = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'{chart.rstrip()}\nannotations:\n  vfiogate.dev/commit: "{commit}"\n  vfiogate.dev/date: "{date}"\n'


def mode_of(path: pathlib.Path) -> int:
    """The plugin for kubectl is to be run."""
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def packed(commit: str, epoch: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        # Chart.yaml first, where helm looks for it.
        for path in sorted((one for one in CHART.rglob("*") if one.is_file()), key=lambda one: (one.name != "Chart.yaml", str(one))):
            content = path.read_bytes()
            if path == CHART / "Chart.yaml":
                content = annotated(content.decode(), commit, epoch).encode()
            info = oci.header(str(pathlib.Path("vfiogate", path.relative_to(CHART))), tarfile.REGTYPE, mode_of(path), epoch)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(out.getvalue(), 9, mtime=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(), metavar="DIR", help="where to; default: here")
    wish = parser.parse_args()
    try:
        version = re.search(r"^version: (\S+)$", (CHART / "Chart.yaml").read_text(), re.MULTILINE)[1]
        file = wish.out / f"vfiogate-{version}.tgz"
        commit = build_info.commit_of_tree()
        file.write_bytes(packed(commit, build_info.epoch_of_tree()))
        print(f"{file}: of commit {commit}")
        return 0
    except (LookupError, OSError, subprocess.CalledProcessError) as failure:
        print(f"package_chart.py: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
