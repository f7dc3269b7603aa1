"""The commands of docs/install.md, run line for line on the node, in the page's order, and what the page shows of them."""

import json
import os
import pathlib
import sys
import time

import manifests
from case import Case
from hardware import TREE, Hardware, topology
from pods import IMAGE

sys.path.insert(0, str(TREE / "tests/docs"))

import blocks  # noqa: E402


class Pages(Case):
    def test_install_md_line_for_line(self):
        """In a copy of the tree whose `base` has the patch that README.md names; every command is the page's."""
        hardware = self.hardware_of(topology("try"), keep=self.addCleanup)
        tree, tools = self.somewhere("tree"), self.somewhere("tools")
        blocks.copy_tree(blocks.listed_files(), self.programs, tree)
        self.put_hardware_into(tree / "deploy/kubernetes/base/kustomization.yaml", hardware)
        self.allocate_tools(tools, hardware)
        self.addCleanup(self.node.forget)
        self.addCleanup(self.node.kubectl, "delete", "-k", tree / "deploy/kubernetes/base", "--ignore-not-found")
        began = time.monotonic()
        environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
        page = blocks.on_a_cluster(blocks.blocks_of("docs/install.md", (TREE / "docs/install.md").read_text()))
        self.assertGreater(len(page), 5)
        for block, shown in page:
            # A pod's name comes a moment after its device: the kubelet lists it then.
            said = blocks.run(block, tree, shown, environment, settles=10)
            self.assertIsNone(said, f"{block.where}: {said}")
        lines = sum(len(block.text.splitlines()) for block, _ in page)
        self.measure(f"{len(page)} blocks, {lines} lines, from the image to the uninstall: {time.monotonic() - began:.0f} s")

    def put_hardware_into(self, kustomization: pathlib.Path, hardware: Hardware) -> None:
        text = kustomization.read_text()
        self.assertNotIn("patches:", text)
        kustomization.write_text(f"{text}patches: {json.dumps(manifests.simulated(hardware))}\n")

    def allocate_tools(self, tools: pathlib.Path, hardware: Hardware) -> None:
        """What the page takes from the host and from a registry: driverctl, which binds simulated hardware here, and busybox."""
        tools.mkdir()
        driverctl = tools / "driverctl"
        driverctl.write_text(f'#!/bin/sh\n[ "$1" = set-override ] && exec {hardware.program} ctl {hardware.place}/hardware.ctl bind "$2" "$3"\n')
        driverctl.chmod(0o755)
        busybox = "docker.io/library/busybox:latest"
        self.node.run("ctr", "images", "tag", "--force", IMAGE, busybox)
        self.addCleanup(self.node.run, "ctr", "images", "rm", busybox)
