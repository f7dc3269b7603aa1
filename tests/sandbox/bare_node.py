"""The daemons on a node without hardware, each a plain process."""

import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "image"))
from patience import await_that  # noqa: E402

PATIENCE = 20  # seconds
# Who is started as somebody: the others are root, or become somebody themselves.
USERS = {"privd-hardware": 64531}


class Node:
    """A directory in which the programs find each other, and hardware without any device."""

    def __init__(self, place: pathlib.Path):
        self.place = place
        for name in ("sys/bus/pci/devices", "sys/bus/pci/drivers", "dev", "kubelet/device-plugins", "kubelet/pod-resources"):
            (place / name).mkdir(parents=True)
        # plugind listens in it after it has become another user.
        place.chmod(0o777)
        self.hardware = ["--sysfs", place / "sys", "--dev", place / "dev"]
        self.plugind = ["--listen", place / "plugind.sock"]

    def certificate(self) -> pathlib.Path:
        file = self.place / "ca.crt"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.place / "ca.key"]
        subprocess.run(["openssl", "req", "-x509", *key, "-subj", "/CN=a", "-out", file], check=True, capture_output=True)
        return file

    def daemons(self) -> dict[str, tuple[list, str]]:
        """By program: its command, and what it says once it serves. Each after those that it asks."""
        place, peer = self.place, ["--plugind", self.place / "plugind.sock"]
        state = ["--state-dir", place / "state"]
        hardware = [*peer, *self.hardware, "--uevents", "on"]
        binder = [*hardware, *state, "--audit-log", place / "state/audit.jsonl", "--plugind-rights", "watch,kubelet,bind"]
        api = ["--api-server", "https://127.0.0.1:9", "--ca", self.certificate(), "--node", "node-1"]
        return {
            "plugind": (["plugind", *self.plugind], "event=started"),
            "privd-hardware": (["privd-hardware", *hardware], "event=plugind_connected"),
            "privd-gate": (["privd-gate", *peer, "--kubelet-dir", place / "kubelet", *state], "event=plugind_connected"),
            "privd-binder": (["privd-binder", *binder], "event=plugind_connected"),
            "netd metrics": (["netd", "metrics", "--listen", "127.0.0.1:0", *peer], "event=started"),
            "netd dra": (["netd", "dra", *api, *peer], "event=started"),
        }

    def commands(self) -> dict[str, list]:
        """Those that probes and operators run in the containers, while the daemons serve."""
        asked = [*self.plugind, "--timeout=5000"]
        return {
            "plugind probe": ["plugind", "probe", *asked],
            "plugind status": ["plugind", "status", *asked],
            "privd list": ["privd", "list", *self.hardware],
        }


class Running:
    """A program, its output read as it comes."""

    def __init__(self, command: list, log: pathlib.Path, become=None, user: int = 0):
        self.log = log
        identity = {"user": user, "group": user, "extra_groups": []} if user else {}
        with log.open("wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=become, **identity)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def says(self, words: str) -> bool:
        """False if it ended without."""
        await_that(f"it says {words}", lambda: words in self.said() or self.process.poll() is not None, PATIENCE)
        return words in self.said()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
