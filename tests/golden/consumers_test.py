#!/usr/bin/env python3
"""Every answer in answers/, read as KubeVirt, Kata and containers of DPDK read it (consumers.py)."""

import json
import pathlib
import unittest

from consumers import Answer, Container, dpdk, kata, kubevirt

ANSWERS = pathlib.Path(__file__).parent / "answers"
# Of a set a virtual machine's entry would take one address: docs/howto/sets.md.
NOT_FOR_KUBEVIRT = {"partitions"}


def groups_in(text: str) -> dict[str, int]:
    """Of privd list: the group of each device."""
    groups = {}
    for line in text.splitlines():
        if line.startswith("groups: "):
            group = json.loads(line.removeprefix("groups: "))
            groups |= {member: group["id"] for member in [*group["members"], *group["mediated"]]}
    return groups


def containers_in(text: str) -> list[Container]:
    """The answered requests."""
    containers, groups = [], groups_in(text)
    for line in text.splitlines():
        if line.startswith("asks for "):
            wanted = [part.split() for part in line.removeprefix("asks for ").split(", ")]
            containers.append(Container({name: int(count) for count, name in wanted}, [], groups))
        elif line.startswith("  compute: "):
            containers[-1].answers.append(Answer.read(line))
    return [container for container in containers if container.answers]


class Consumers(unittest.TestCase):
    def each(self):
        for path in sorted(ANSWERS.glob("*.txt")):
            for container in containers_in(path.read_text()):
                with self.subTest(machine=path.stem, asks=container.wanted):
                    yield path.stem, container

    def test_kubevirt_takes_one_address_for_each_entry(self):
        read = 0
        for machine, container in self.each():
            speaks = any("PCI_RESOURCE_" in name for name in container.variables())
            if speaks and machine not in NOT_FOR_KUBEVIRT and not self.mixed(container):
                self.assertEqual(kubevirt(container), [])
                read += 1
        self.assertGreater(read, 12)

    def mixed(self, container: Container) -> bool:
        """Some of its resources are for KubeVirt, and some are not."""
        return any("PCIDEVICE_" in name for name in container.variables())

    def test_kata_finds_each_device_by_its_name(self):
        containers = containers_in((ANSWERS / "profile-kata.txt").read_text())
        self.assertTrue(containers)
        for container in containers:
            self.assertEqual(kata(container), [])
            self.assertEqual(container.variables(), {})

    def test_dpdk_reads_the_addresses_that_were_allocated(self):
        read = [dpdk(container) for _, container in self.each() if self.mixed(container)]
        self.assertGreaterEqual(len(read), 2)
        self.assertFalse(any(read), read)

    def test_a_runtime_that_is_told_names_is_given_no_nodes(self):
        for container in containers_in((ANSWERS / "profile-cdi.txt").read_text()):
            for answer in container.answers:
                self.assertEqual(answer.cdi, [f"{answer.resource}={one}" for one in answer.ids])
                self.assertEqual(answer.nodes, [])


class TheModels(unittest.TestCase):
    """They find what is wrong: a model that takes everything tests nothing."""

    GROUPS = {"0000:01:00.0": 1, "0000:02:00.0": 2}

    def container(self, line: str, count: int = 1) -> Container:
        answer = Answer.read(line)
        return Container({answer.resource: count}, [answer], self.GROUPS)

    def test_kubevirt_s(self):
        good = "  compute: a.b/c 0000:01:00.0, /dev/vfio/vfio, /dev/vfio/1, PCI_RESOURCE_A_B_C=0000:01:00.0"
        self.assertEqual(kubevirt(self.container(good)), [])
        self.assertIn("no address is left", kubevirt(self.container(good, 2))[0])
        self.assertIn("left over", kubevirt(self.container(good + ",0000:02:00.0"))[0])
        self.assertIn("no node of its group", kubevirt(self.container(good.replace("/dev/vfio/1", "/dev/vfio/2")))[0])
        self.assertIn("without /dev/vfio/vfio", kubevirt(self.container(good.replace("/dev/vfio/vfio, ", "")))[0])
        self.assertIn("no address that it takes", kubevirt(self.container(good.replace("=0000:01", "=10000:01")))[0])
        self.assertIn("two entries'", kubevirt(self.container(good + ",0000:01:00.0", 2))[0])

    def test_kata_s(self):
        self.assertEqual(kata(self.container("  compute: a.b/card 0000:01:00.0, /dev/vfio/vfio, /dev/vfio/1")), [])
        self.assertIn("no CDI kind", kata(self.container("  compute: a.b/10de_1 0000:01:00.0"))[0])
        self.assertIn("own name", kata(self.container("  compute: a.b/card set:one"))[0])
        both = "  compute: a.b/card 0000:01:00.0, /dev/vfio/vfio, /dev/vfio/1, /dev/iommu, /dev/vfio/devices/vfio0"
        self.assertIn("both ways", kata(self.container(both))[0])

    def test_dpdk_s(self):
        self.assertIn("not what was allocated", dpdk(self.container("  compute: a.b/c 0000:01:00.0, PCIDEVICE_A_B_C=0000:02:00.0"))[0])


if __name__ == "__main__":
    unittest.main()
