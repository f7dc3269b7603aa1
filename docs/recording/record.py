#!/usr/bin/env python3
"""Makes docs/pictures/terminal.svg and top.svg from a real run: the commands below on the simulated node of docs/walk, in a terminal
of 108 columns; of several, each is shown for a few seconds. Needs root, /dev/fuse and the built programs (VFIOGATE_PROGRAMS).
  docs/recording/record.py            writes the pictures
  docs/recording/record.py --check    runs all and compares: only times, references and ages may differ"""

import argparse
import difflib
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import typing

TREE = pathlib.Path(__file__).resolve().parents[2]
NODE = TREE / "docs/walk/node.sh"
PICTURES = TREE / "docs/pictures"
COLUMNS = 108
SECONDS = 4  # a scene


class Recording(typing.NamedTuple):
    name: str
    rows: int
    scenes: tuple  # what is shown, and what is done before it without being shown


TERMINAL = (
    ("privd list", ()),
    ("plugind status", (["kubelet", "apply", "docs/walk/look.yaml"], ["await", "default/look", "plugind", "status"])),
    ("plugind explain 02:00.0", ()),
    ("privd bind 02:00.0 --dry-run", ()),
    ("privd bind 02:00.0", ()),
    ("plugind explain 02:00.0", (["await", "the kubelet sees it, Healthy", "plugind", "explain", "02:00.0"],)),
)
# On the node as the former left it, where somebody tries to take the pod's card.
TOP = (("privd top --once", (["await", "refused", "privd", "unbind", "01:00.0"],)),)
RECORDINGS = (Recording("terminal", 16, TERMINAL), Recording("top", 8, TOP))
# Said only where the kernel takes more than a moment, as on a busy machine.
WAITING = re.compile(r"^waiting for the kernel: .*\n", re.MULTILINE)
COLOURS = {"1": ("font-weight", "bold"), "2": ("fill", "#888"), "31": ("fill", "#f47067"), "32": ("fill", "#8ddb8c"),
           "33": ("fill", "#f6c177"), "34": ("fill", "#6cb6ff"), "36": ("fill", "#6cd4d4"), "90": ("fill", "#888")}
PASSING = ((r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
           (r"(?<![\d:])\d\d:\d\d:\d\dZ?(?![.\d])", "TIME"),
           (r"ref=[0-9a-f]{4}", "ref=REF"), (r"\d+ s ago", "N s ago"), (r"TIME  \d+s +", "TIME  Ns "))


def in_terminal(words: list) -> str:
    """What it writes to a terminal. Raises where it fails."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = os.environ | {"TZ": "UTC", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(words, cwd=TREE, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 65536):
            said += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    text = said.decode().replace("\r\n", "\n")
    if process.wait() != 0:
        raise RuntimeError(f"{words}: exit {process.returncode}: {text}")
    return text


def spans(line: str) -> str:
    """The line with its escape sequences as SVG's styles, cut at the terminal's width."""
    out, style, left = "", {}, COLUMNS
    for code, text in re.findall(r"(?:\x1b\[([0-9;]*)m)?([^\x1b]*)", line):
        for one in code.split(";") if code else ():
            if one in ("", "0"):
                style = {}
            elif one in COLOURS:
                style = style | dict([COLOURS[one]])
        text, left = text[:left], left - len(text[:left])
        if text:
            kept = "".join(f' {key}="{value}"' for key, value in style.items())
            out += f"<tspan{kept}>{html.escape(text)}</tspan>"
    return out


def moving(scenes: int, whole: int) -> list:
    return [f".s{{opacity:0;animation:show {whole}s step-end infinite}}", f"@keyframes show{{0%{{opacity:1}}{100 / scenes:g}%{{opacity:0}}}}",
            *(f".s{at}{{animation-delay:{at * SECONDS}s}}" for at in range(scenes)),
            "@media(prefers-reduced-motion){.s{animation:none}.s0{opacity:1}}"]


def picture(scenes: list, rows: int) -> str:
    """Each scene: its command and what it said."""
    width, height, whole = COLUMNS * 8 + 24, rows * 18 + 44, SECONDS * len(scenes)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
           "<title>A recorded run on a simulated node</title>", "<style>",
           "text{font:13px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d7dbe0;white-space:pre}",
           *(moving(len(scenes), whole) if len(scenes) > 1 else ()), "</style>",
           f'<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>']
    for at, (command, said) in enumerate(scenes):
        out.append(f'<g class="s s{at}">')
        lines = [f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m", *said.rstrip().splitlines()]
        for row, line in enumerate(lines[:rows]):
            if line:
                out.append(f'<text x="12" y="{30 + row * 18}" xml:space="preserve">{spans(line)}</text>')
        out.append("</g>")
    return "\n".join([*out, "</svg>", ""])


def scenes_of(recording: Recording) -> list:
    scenes = []
    for command, before in recording.scenes:
        for words in before:
            subprocess.run([NODE, *words], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
        scenes.append((command, WAITING.sub("", in_terminal([NODE, *command.split()]))))
    return scenes


def recorded() -> dict:
    """Each picture's text by its file."""
    subprocess.run([NODE, "up", "docs/walk/kubevirt.yaml"], cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    try:
        return {PICTURES / f"{one.name}.svg": picture(scenes_of(one), one.rows) for one in RECORDINGS}
    finally:
        subprocess.run([NODE, "down"], cwd=TREE, check=False, stdout=subprocess.DEVNULL)


def lasting(text: str) -> list:
    for pattern, word in PASSING:
        text = re.sub(pattern, word, text)
    return text.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the pictures that are there")
    wish = parser.parse_args()
    pictures = recorded()
    if not wish.check:
        for file, text in pictures.items():
            file.write_text(text)
        return 0
    difference = [line for file, text in pictures.items() for line in difflib.unified_diff(
        lasting(file.read_text()), lasting(text), str(file.relative_to(TREE)), "now", lineterm="", n=0)]
    if difference:
        print("\n".join(["run docs/recording/record.py: the recording is not what the programs say", *difference[:20]]))
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
