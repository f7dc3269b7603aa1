"""The witness beside a run: started, asked what it has seen, ended."""

import json
import pathlib
import subprocess
import sys
import time

from waiting import wait_for

PROGRAM = pathlib.Path(__file__).resolve().parent / "witness.py"


class Watch:
    def __init__(self, report: pathlib.Path, *words: str):
        self.report = report
        self.process = subprocess.Popen([sys.executable, PROGRAM, "--report", report, *words])
        wait_for("the witness looks", lambda: self.said("begin"), seconds=20)

    def said(self, kind: str, since: float = 0) -> list[dict]:
        """In the order of time; `since` as time.time() has it."""
        if not self.report.exists():
            return []
        lines = self.report.read_text().splitlines(keepends=True)
        said = [json.loads(line) for line in lines if line.endswith("\n")]
        return [one for one in said if one["kind"] == kind and one["time"] >= since]

    def doubles(self, since: float = 0) -> list[str]:
        return [f"{one['node']} in {' and '.join(one['pods'])}" for one in self.said("double", since)]

    def holders(self) -> dict[str, list[str]]:
        """By node, the pods that had it last."""
        said = self.said("holders")
        return said[-1]["holders"] if said else {}

    def looks(self) -> bool:
        return self.process.poll() is None

    def end(self) -> dict:
        """How often it looked, and the longest time between two readings."""
        self.process.terminate()
        self.process.wait(timeout=20)
        return self.said("end")[-1]


def now() -> float:
    """For `since`: lines have milliseconds."""
    return round(time.time() - 0.001, 3)
