#!/usr/bin/env python3
"""Draws docs/dashboard.svg from the dashboard's JSON and docs/dashboard-data.json, which are the answers of a Prometheus
to its queries (tests/monitoring/node_under_load.py). It is a picture of the panels and their data, not of Grafana.
Prints it; `docs/draw_dashboard.py > docs/dashboard.svg`."""

import html
import json
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[1]
DASHBOARD = TREE / "deploy/helm/vfiogate/monitoring/dashboard.json"
DATA = TREE / "docs/dashboard-data.json"

COLUMN, ROW, GAP, TOP = 50, 30, 8, 46  # pixels a unit of gridPos, between panels, above them
COLOURS = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#65a30d", "#475569"]
STEPS = {"green": "#047857", "red": "#b91c1c", "orange": "#b45309", "blue": "#1d4ed8"}
STYLE = """<style>
text { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2937 }
.title { font-size: 13px; font-weight: 600 } .small { font-size: 10.5px; fill: #4b5563 } .head { font-size: 18px; font-weight: 600 }
</style>"""


def number(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    if unit == "bytes":
        return f"{value / 1024:,.0f} KiB"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    return f"{value:.3g}"


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start", more: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind} text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def last(series: dict) -> float | None:
    return next((value for value in reversed(series["values"]) if value is not None), None)


def now(series: list[dict]) -> list[dict]:
    """Those that have a value at the end: what an instant query returns."""
    return [one for one in series if one["values"][-1] is not None]


class Box:
    """A panel's place, and what is drawn there."""

    def __init__(self, panel: dict, series: list[dict]):
        grid = panel["gridPos"]
        self.panel, self.series = panel, series
        self.unit = panel["fieldConfig"]["defaults"]["unit"]
        self.x, self.y = grid["x"] * COLUMN + GAP, grid["y"] * ROW + TOP
        self.width, self.height = grid["w"] * COLUMN - GAP, grid["h"] * ROW - GAP

    def drawn(self) -> list[str]:
        kind = {"stat": self.stat, "bargauge": self.bars, "timeseries": self.lines}[self.panel["type"]]
        frame = f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="4" fill="#fff" stroke="#d1d5db"/>'
        described = f"<title>{html.escape(self.panel['description'])}</title>"
        return ["<g>", described, frame, text(self.x + 10, self.y + 19, self.panel["title"], "title"), *kind(), "</g>"]

    def stat(self) -> list[str]:
        value = last(self.series[0]) or 0
        steps = self.panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        colour = [step["color"] for step in steps if step["value"] is None or value >= step["value"]][-1]
        size = f' style="font-size:40px;font-weight:600;fill:{STEPS[colour]}"'
        return [text(self.x + self.width / 2, self.y + self.height / 2 + 26, number(value, self.unit), "", "middle", size)]

    def bars(self) -> list[str]:
        shown = sorted(now(self.series), key=lambda one: (-last(one), one["legend"]))
        most = max(last(one) for one in shown)
        left, wide = self.x + 175, self.width - 230
        step = min(26, (self.height - 40) / len(shown))
        parts = []
        for i, one in enumerate(shown):
            y = self.y + 34 + i * step
            parts += [text(left - 8, y + step / 2 + 4, one["legend"], "", "end"),
                      f'<rect x="{left}" y="{y + 2:.1f}" width="{wide * last(one) / most:.1f}" height="{step - 5:.1f}" fill="{COLOURS[0]}"/>',
                      text(left + wide * last(one) / most + 6, y + step / 2 + 4, number(last(one), self.unit))]
        return parts

    def lines(self) -> list[str]:
        # Lines that are nothing all the time share the legend's last place.
        telling = [one for one in self.series if any(one["values"])]
        silent = len(self.series) - len(telling)
        most = max((value for one in telling for value in one["values"] if value is not None), default=0) or 1
        rows = len(telling) + (1 if silent else 0)
        left, top = self.x + 62, self.y + 32
        wide, high = self.width - 76, self.height - 62 - 15 * ((rows + 1) // 2)
        parts = []
        for part in (0, 0.5, 1):
            y = top + high * (1 - part)
            parts += [f'<line x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e5e7eb"/>',
                      text(left - 6, y + 4, number(most * part, self.unit), "small", "end")]
        parts += [text(left, top + high + 14, "0 s", "small"),
                  text(left + wide, top + high + 14, f"{SECONDS} s", "small", "end")]
        for i, one in enumerate(telling):
            colour = COLOURS[i % len(COLOURS)]
            x, y = self.x + 14 + (i % 2) * self.width / 2, top + high + 32 + 15 * (i // 2)
            parts += [f'<path d="{self.path(one, left, top, wide, high, most)}" fill="none" stroke="{colour}" stroke-width="1.8"/>',
                      f'<rect x="{x}" y="{y - 8}" width="10" height="10" fill="{colour}"/>', text(x + 15, y + 1, one["legend"], "small")]
        if silent:
            i = len(telling)
            x, y = self.x + 14 + (i % 2) * self.width / 2, top + high + 32 + 15 * (i // 2)
            parts.append(text(x, y + 1, f"{silent} more, 0 all the time" if telling else f"{silent} series, 0 all the time", "small"))
        return parts

    @staticmethod
    def path(one: dict, left: float, top: float, wide: float, high: float, most: float) -> str:
        points, pen = [], "M"
        for i, value in enumerate(one["values"]):
            if value is None:
                pen = "M"
                continue
            x = left + wide * i / max(1, len(one["values"]) - 1)
            points.append(f"{pen}{x:.1f} {top + high * (1 - value / most):.1f}")
            pen = "L"
        return " ".join(points)


def drawn(dashboard: dict, answers: list[dict]) -> str:
    boxes = [Box(panel, [one for answer in answers if answer["panel"] == panel["id"] for one in answer["series"]])
             for panel in dashboard["panels"]]
    width, height = 24 * COLUMN + GAP, max(box.y + box.height for box in boxes) + 30
    note = "Drawn by docs/draw_dashboard.py from dashboard.json and a real Prometheus's answers about a simulated node. Grafana's own drawing was not seen."
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">', STYLE,
        f'<rect width="{width}" height="{height}" fill="#f3f4f6"/>', text(GAP + 4, 30, dashboard["title"], "head"),
        *(part for box in boxes for part in box.drawn()), text(GAP + 4, height - 10, note, "small"), "</svg>"]) + "\n"


if __name__ == "__main__":
    times, *found = json.loads(DATA.read_text())
    SECONDS = times["seconds"]
    print(drawn(json.loads(DASHBOARD.read_text()), found), end="")
