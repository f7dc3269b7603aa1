"""The picture of how plugind's cost grows, docs/pictures/growth.svg, as text: of the counts in growth.tsv, which
`tests/bench/counts.py PARTS_BENCH --growing` prints. Both axes are logarithmic: what grows as fast as its number is as steep as the grey line."""

import collections
import html
import math
import pathlib

COUNTS = pathlib.Path(__file__).resolve().parent / "pictures/growth.tsv"
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
WIDTH, PANEL, HIGH, GAP = 900, 260, 210, 40
LEFT, TOP = 50, 74
COLUMNS = 3
LEAST, MOST = 1e4, 1e9  # instructions
COLOURS = {"Allocate": "#1565c0", "GetPreferredAllocation": "#2e7d32", "change": "#b26a00", "refused Allocate": "#7c3aed"}
NAMES = {"change": "a change, until its frames are messages"}

Line = list[tuple[int, int]]


def counts() -> dict[str, dict[str, Line]]:
    """Per number that grows, per part: value and instructions, ascending."""
    panels: dict[str, dict[str, Line]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in COUNTS.read_text().splitlines():
        if row.startswith("#"):
            continue
        name, count = row.split("\t")
        along, value, part = name.split("/")
        panels[along][part].append((int(value), int(count)))
    return panels


def text(x: float, y: float, size: int, said: str, anchor: str = "start", fill: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{html.escape(said)}</text>'


def said(count: float) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{name}"
    return f"{count:g}"


class Panel:
    def __init__(self, place: int, along: str, lines: dict[str, Line]):
        self.x = LEFT + place % COLUMNS * (PANEL + GAP)
        self.y = TOP + place // COLUMNS * (HIGH + 2 * GAP)
        self.along, self.lines = along, lines
        values = [value for line in lines.values() for value, _ in line]
        self.least, self.most = min(values), max(values)

    def across(self, value: float) -> float:
        return self.x + PANEL * math.log(value / self.least) / math.log(self.most / self.least)

    def up(self, count: float) -> float:
        return self.y + HIGH * (1 - math.log(count / LEAST) / math.log(MOST / LEAST))

    def frame(self) -> list[str]:
        drawn = [text(self.x, self.y - 8, 13, self.along)]
        count = LEAST
        while count <= MOST:
            y = self.up(count)
            drawn.append(f'<path d="M{self.x} {y:.1f}h{PANEL}" stroke="#ddd"/>')
            drawn.append(text(self.x - 5, y + 4, 10, said(count), "end", "#666"))
            count *= 10
        room = self.x + 2 * PANEL  # a number at the right edge stays, one too close before it does not
        for value in sorted({value for line in self.lines.values() for value, _ in line}, reverse=True):
            if self.across(value) > room - 34:
                continue
            room = self.across(value)
            drawn.append(text(room, self.y + HIGH + 14, 10, str(value), "middle", "#666"))
        # As steep as the number itself, from the lower left corner on.
        ends = min(self.most, self.least * MOST / LEAST)
        drawn.append(f'<path d="M{self.x} {self.up(LEAST):.1f}L{self.across(ends):.1f} {self.up(LEAST * ends / self.least):.1f}" '
                     'stroke="#bbb" stroke-dasharray="3 3"/>')
        return drawn

    def draw(self) -> list[str]:
        drawn = self.frame()
        for part, line in self.lines.items():
            points = [(self.across(value), self.up(count)) for value, count in line]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            drawn.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[part]}" stroke-width="2"/>')
            for (x, y), (value, count) in zip(points, line):
                drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[part]}">'
                             f"<title>{html.escape(f'{part}, {value} {self.along}: {count:,} instructions')}</title></circle>")
        return drawn


def draw() -> str:
    panels = counts()
    rows = math.ceil(len(panels) / COLUMNS)
    height = TOP + rows * (HIGH + 2 * GAP) - GAP
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 40} {height}" width="{WIDTH + 40}" height="{height}" role="img" '
             f'font-family="{FONT}" font-size="12">',
             "<title>Instructions of plugind's parts, by devices, groups, resources, pods, callers and events</title>",
             f'<rect width="{WIDTH + 40}" height="{height}" fill="#fff"/>']
    x = LEFT
    for part, colour in COLOURS.items():
        name = NAMES.get(part, part)
        lines.append(f'<path d="M{x} 22h18" stroke="{colour}" stroke-width="3"/>' + text(x + 24, 26, 12, name))
        x += 60 + 7 * len(name)
    lines.append(text(LEFT, 46, 11, "instructions; the dashed line is as steep as what grows with its number", fill="#666"))
    for place, (along, parts) in enumerate(panels.items()):
        lines += Panel(place, along, parts).draw()
    return "\n".join([*lines, "</svg>"]) + "\n"
