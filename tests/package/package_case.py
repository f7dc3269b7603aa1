"""What every case of the Debian package looks at: the package, made once, and what is in it."""

import functools
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "deploy/debian"))
import program_help  # noqa: E402

BUILD = TREE / "deploy/debian/build_package.py"
NAME = "vfiogate-privd"
ROLES = ("hardware", "gate", "binder", "iommufd")
UNITS = tuple(f"usr/lib/systemd/system/vfiogate-{role}.service" for role in ROLES)
BINDER, IOMMUFD = UNITS[2:]
TARGET = "usr/lib/systemd/system/vfiogate.target"
EARLY = f"usr/lib/systemd/system/{NAME}-early.service"
EARLY_LINK = f"usr/lib/systemd/system/sysinit.target.wants/{NAME}-early.service"
BILL = f"usr/share/sbom/{NAME}.spdx.json"
NEEDRESTART = tuple(f"etc/needrestart/restart.d/vfiogate-{role}.service" for role in ROLES)
CONFIGURATION = "etc/vfiogate/privd.conf"



def run(*command, **others) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **others)


def build(out: pathlib.Path) -> pathlib.Path:
    done = run(BUILD, "--programs", Built.programs, "--out", out, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return out


@functools.cache
def place() -> tempfile.TemporaryDirectory:
    made = tempfile.TemporaryDirectory(prefix="vfiogate-package-")
    os.chmod(made.name, 0o755)  # privd-hardware is started by another user than root
    return made


@functools.cache
def built() -> pathlib.Path:
    return build(pathlib.Path(place().name, "one.deb"))


class Built(unittest.TestCase):
    programs = pathlib.Path()

    @classmethod
    def setUpClass(cls):
        cls.archive = built()
        cls.directory = pathlib.Path(tempfile.mkdtemp(dir=place().name))
        cls.directory.chmod(0o755)
        cls.root = cls.directory / "root"
        cls.scripts = cls.directory / "control"
        run("dpkg-deb", "-x", cls.archive, cls.root, check=True)
        run("dpkg-deb", "-e", cls.archive, cls.scripts, check=True)
        cls.program = cls.root / "usr/bin/privd"
        cls.daemon = cls.root / "usr/bin/privd-daemon"
        cls.own = [cls.program, cls.daemon, *(cls.root / f"usr/bin/privd-{role}" for role in ROLES)]
        cls.commands = program_help.commands_of(cls.program)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", cls.archive], stdout=subprocess.PIPE) as listing:
            with tarfile.open(fileobj=listing.stdout, mode="r|") as tar:
                cls.members = list(tar)
