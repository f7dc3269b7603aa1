"""The picture of the processes on a node, docs/pictures/processes.svg, as text: boxes, and who talks to whom."""

import html
import typing

WIDTH, HEIGHT = 820, 430
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
WHITE, GREY, PALE = ("#fff", "#666"), ("#eee", "#666"), ("#f4f4f4", "#666")
ROOT, READER, NOBODY = ("#fdf3e6", "#b26a00"), ("#eaf5e9", "#2e7d32"), ("#e3eefb", "#1565c0")


class Box(typing.NamedTuple):
    x: int
    y: int
    width: int
    height: int
    colours: tuple[str, str]  # inside, edge
    title: str
    lines: tuple[str, ...] = ()
    only_where_asked: bool = False  # dashed


class Arrow(typing.NamedTuple):
    path: str
    label: str = ""
    at: tuple[int, int] = (0, 0)


BOXES = (
    Box(10, 20, 250, 96, READER, "privd-hardware", ("uid 64531, writes nowhere", "scan, kernel events", "device news: Cap'n Proto")),
    Box(10, 128, 250, 96, ROOT, "privd-gate", ("uid 0, no capability, no sysfs", "the kubelet's sockets, CDI specs", "what is allocated")),
    Box(10, 236, 250, 124, ROOT, "privd-binder", ("only where binding is on", "uid 0, no capability; no kubelet, no CDI", "guards, plan with undo, audit log",
                                                   "fork server: a process for each write"), True),
    Box(330, 20, 220, 340, NOBODY, "plugind", ("uid 64532, can open nothing", "seccomp filter")),
    Box(350, 110, 180, 56, WHITE, "", ("ledger: one holder for", "each IOMMU group")),
    Box(350, 180, 180, 56, WHITE, "", ("gRPC with the kubelet", "over handed descriptors")),
    Box(350, 250, 180, 40, WHITE, "", ("answers status, explain",)),
    Box(620, 20, 190, 110, GREY, "netd metrics", ("uid 64533", "seccomp filter", "HTTP: /metrics")),
    Box(620, 150, 190, 110, GREY, "netd dra", ("only with DRA", "uid 64533, seccomp filter", "Kubernetes API"), True),
    Box(10, 385, 250, 32, PALE, "", ("kernel: sysfs, uevents, VFIO",)),
    Box(330, 385, 220, 32, PALE, "", ("kubelet",)),
    Box(620, 385, 190, 32, PALE, "", ("network",)),
)
ARROWS = (
    Arrow("M262 68 H328", "devices", (295, 60)),
    Arrow("M328 160 H262", "asks", (295, 152)),
    Arrow("M262 196 H328", "sockets", (295, 188)),
    Arrow("M328 280 H262", "bind", (295, 272)),
    Arrow("M262 316 H328", "bindings", (295, 308)),
    Arrow("M620 75 H552", "asks", (586, 67)),
    Arrow("M620 205 H552", "asks", (586, 197)),
    Arrow("M135 362 V383"),
    Arrow("M440 362 V383"),
    Arrow("M715 262 V383"),
)


def text(x: float, y: float, size: int, said: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-size="{size}"{more}>{html.escape(said)}</text>'


def box(one: Box) -> list[str]:
    fill, stroke = one.colours
    dashed = ' stroke-dasharray="5 3"' if one.only_where_asked else ""
    drawn = [f'<rect x="{one.x}" y="{one.y}" width="{one.width}" height="{one.height}" rx="6" fill="{fill}" stroke="{stroke}"{dashed}/>']
    middle = one.x + one.width / 2
    if one.title:
        drawn.append(text(middle, one.y + 20, 13, one.title, ' font-weight="bold"'))
        first = one.y + 42
    else:
        first = one.y + one.height / 2 + 4 - 9 * (len(one.lines) - 1)
    return drawn + [text(middle, first + 18 * i, 12, line, ' fill="#333"') for i, line in enumerate(one.lines)]


def arrow(one: Arrow) -> list[str]:
    drawn = [f'<path d="{one.path}" fill="none" stroke="#444" stroke-width="1.5" marker-end="url(#tip)"/>']
    return drawn + ([text(*one.at, 11, one.label, ' fill="#333"')] if one.label else [])


def draw() -> str:
    tip = ('<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0 10 5 0 10z" fill="#444"/></marker></defs>')
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
             f'font-family="{FONT}" font-size="13">', "<title>The processes of vfiogate on a node, and who talks to whom</title>", tip,
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    lines += [line for one in BOXES for line in box(one)] + [line for one in ARROWS for line in arrow(one)]
    return "\n".join([*lines, "</svg>"]) + "\n"
