"""What the cases share: the node, the witness around each case, hardware, what was measured."""

import itertools
import pathlib
import unittest

import manifests
import watch
from hardware import Hardware
from installation import Installation
from node import Node
from pods import Pods
from watch import Watch


class Case(unittest.TestCase):
    """`long`: only with --full. What a class sets up is shared by its cases; each is usable alone."""

    long = False
    maxDiff = None
    numbers = itertools.count(1)
    programs = place = pathlib.Path()
    node: Node
    pods: Pods
    witness: Watch

    @classmethod
    def somewhere(cls, name: str) -> pathlib.Path:
        """A path that nobody had yet."""
        return cls.place / f"{next(cls.numbers)}-{name}"

    def setUp(self):
        self.began = watch.now()
        self.addCleanup(self.ask_witness)
        self.addCleanup(self.pods.end_all)

    def ask_witness(self) -> None:
        self.assertTrue(self.witness.looks(), "the witness has ended")
        self.assertEqual(self.witness.doubles(self.began), [], "two pods had one group's node at the same moment")

    def measure(self, words: str) -> None:
        """A line that can be quoted."""
        print(f"measured: {'.'.join(self.id().split('.')[-2:])}: {' '.join(words.split())}", flush=True)

    @classmethod
    def hardware_of(cls, topology: pathlib.Path, keep=None) -> Hardware:
        """Removed at the end of the case (`keep`: its addCleanup) or of the class."""
        hardware = Hardware(cls.programs, topology, cls.somewhere("hardware"))
        (keep or cls.addClassCleanup)(hardware.remove)
        return hardware

    @classmethod
    def install(cls, resource: pathlib.Path, patches: list[dict], components: list[str] = (), keep=None) -> Installation:
        """On a node that knows nothing of it. Removed at the end of the case (`keep`: its addCleanup) or of the class."""
        directory = resource
        if patches or components:
            directory = manifests.overlay(cls.somewhere("overlay"), resource, patches, components)
        return cls.kept(Installation, directory, keep=keep)

    @classmethod
    def kept(cls, kind, *words, keep=None) -> Installation:
        keep = keep or cls.addClassCleanup
        keep(cls.node.forget)
        installation = kind(cls.node, *words)
        keep(installation.remove)
        keep(cls.pods.end_all)
        return installation
