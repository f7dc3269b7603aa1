#!/usr/bin/env python3
"""helm, as tests/deploy has it by npm. Run as a program it is fetched, where there is a network."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deploy"))

import tools  # noqa: E402

Unavailable = tools.Unavailable


def program() -> pathlib.Path:
    """Raises Unavailable with the reason."""
    return tools.tools()[0]


if __name__ == "__main__":
    try:
        print(program())
    except Unavailable as reason:
        sys.exit(f"no helm: {reason}")
