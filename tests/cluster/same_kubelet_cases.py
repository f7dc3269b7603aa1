"""The node's kubelet and the stand-in see the same scenario; what differs is the stand-in's mistake."""

import pathlib
import re
import threading
import time

import kubelet_scenarios
from case import Case
from kubelets import Kubelet, RealKubelet, StandIn

DEVICE = re.compile(r"dev-[a-z]")
TICK = 0.01  # of a kernel with 100 ticks a second


class Renamed:
    """Which device a kubelet takes is arbitrary: they are named anew in the order in which they appear."""

    def __init__(self):
        self.names: dict[str, str] = {}

    def name(self, device: str) -> str:
        return self.names.setdefault(device, f"device {len(self.names) + 1}")

    def of(self, value):
        if isinstance(value, dict):
            return {key: self.of(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            found = [self.of(one) for one in value]
            devices = bool(value) and all(isinstance(one, str) and DEVICE.fullmatch(one) for one in value)
            return sorted(found) if devices else found
        return DEVICE.sub(lambda found: self.name(found[0]), value) if isinstance(value, str) else value


def observed(scenario, kubelet: Kubelet) -> list[str]:
    """In lines, as far as it comes."""
    renamed, lines = Renamed(), []
    uids = kubelet.uids

    def told(value) -> str:
        text = repr(renamed.of(value))
        for name, uid in uids.items():
            text = text.replace(uid, f"(uid of {name})")
        return text

    try:
        for what, value in scenario(kubelet):
            lines.append(f"{what}: {told(value)}")
    except (AssertionError, LookupError) as failed:
        lines.append(f"failed: {type(failed).__name__}: {failed}")
    finally:
        kubelet.end()
    return lines


class SameKubelet(Case):
    long = True

    def same(self, scenario) -> None:
        name = scenario.__name__.replace("_", "-")
        resource = f"recorder.test/{name}"
        seen: dict[str, list[str]] = {}

        def stand_in() -> None:
            seen["stand-in"] = observed(scenario, StandIn(self.programs, pathlib.Path("/run", f"stand-in-{next(self.numbers)}"), resource))

        beside = threading.Thread(target=stand_in)
        beside.start()
        seen["real"] = observed(scenario, RealKubelet(self.programs, self.node, resource))
        beside.join()
        for line in seen["real"]:
            print(f"  real | {line}", flush=True)
        self.assertEqual(seen["real"], seen["stand-in"], "the stand-in (second) is not as the kubelet (first)")
        self.assertFalse([line for line in seen["real"] if line.startswith("failed: ")])

    def test_file_time_of_the_checkpoint(self):
        """Stamped by the kernel's coarse clock: it may lie before what it records, by no more than a tick."""
        kubelet = RealKubelet(self.programs, self.node, "recorder.test/clock")
        self.addCleanup(kubelet.end)
        kubelet.plugin("dev-a")
        late = []
        for shown in (["dev-a", "dev-b"], ["dev-a"]) * 5:
            began = time.time()
            kubelet.show(*shown)
            late.append(kubelet.checkpoint_file().stat().st_mtime - began)
        self.measure(f"a frame's checkpoint is stamped {min(late) * 1000:.1f} to {max(late) * 1000:.1f} ms after the frame was sent")
        self.assertGreater(min(late), -TICK)


def add_case(scenario) -> None:
    setattr(SameKubelet, f"test_{scenario.__name__}", lambda self: self.same(scenario))


for each in vars(kubelet_scenarios).copy().values():
    if callable(each) and getattr(each, "__module__", "") == kubelet_scenarios.__name__:
        add_case(each)
