#!/usr/bin/env python3
"""Makes one archive of images that build_image.py made for different architectures: an OCI index, of which a node takes its own.
The same images give the same bytes."""

import argparse
import pathlib
import sys

import build_info
import oci


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", nargs="+", type=pathlib.Path, metavar="IMAGE")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE")
    wish = parser.parse_args()
    try:
        files = oci.joined([oci.read_archive(image) for image in wish.images])
        oci.write_archive(files, wish.out, build_info.epoch_of_tree())
    except (LookupError, OSError, ValueError) as failure:
        print(f"join_images.py: {failure}", file=sys.stderr)
        return 1
    print(f"{wish.out}: {len(wish.images)} images\n  {oci.manifest_digest(files)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
