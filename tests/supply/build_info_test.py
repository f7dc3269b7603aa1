#!/usr/bin/env python3
"""What cmake/write_build_info.cmake writes: of git's tree, of one that was changed, of one that `git archive` made, of one of which
nobody knows anything; and that it writes nothing where it would write the same."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
FILES = ("write_build_info.cmake", "source_commit")
NAMED = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
AT = {"GIT_AUTHOR_DATE": "1700000000 +0300", "GIT_COMMITTER_DATE": "1700000000 +0300"}
DATE, OTHER_DATE = "2023-11-14T22:13:20Z", "2001-09-09T01:46:40Z"


class BuildInfo(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.tree = self.place / "tree"
        (self.tree / "cmake").mkdir(parents=True)
        for name in FILES:
            shutil.copy(TREE / "cmake" / name, self.tree / "cmake" / name)
        shutil.copy(TREE / ".gitattributes", self.tree)
        self.out = self.place / "build_info.cc"
        self.environment = {key: said for key, said in os.environ.items() if key != "SOURCE_DATE_EPOCH"} | NAMED | AT

    def git(self, *words: str) -> str:
        command = ["git", "-c", "init.defaultBranch=main", "-C", self.tree, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self.environment).stdout.strip()

    def commit(self) -> str:
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "one")
        return self.git("rev-parse", "HEAD")

    def written(self, tree: pathlib.Path | None = None, **environment) -> tuple[str, ...]:
        """Version, commit, date and text."""
        tree = tree or self.tree
        command = ["cmake", f"-DSOURCE={tree}", "-DVERSION=1.2.3", f"-DOUT={self.out}", "-P", tree / "cmake/write_build_info.cmake"]
        subprocess.run(command, check=True, capture_output=True, env=self.environment | environment)
        return tuple(re.findall(r'"([^"]*)"', self.out.read_text().partition("kBuild")[2]))

    def test_of_a_commit(self):
        commit = self.commit()
        self.assertEqual(self.written(), ("1.2.3", commit, DATE, f"1.2.3 (commit {commit}, {DATE})"))

    def test_of_changed_files(self):
        commit = self.commit()
        (self.tree / "new").write_text("not a file of the tree")
        self.assertEqual(self.written()[1], commit)
        (self.tree / ".gitattributes").write_text("")
        self.assertEqual(self.written()[1:3], (f"{commit}-dirty", DATE))

    def test_of_an_archive(self):
        commit = self.commit()
        archived = self.place / "archived"
        archived.mkdir()
        packed = subprocess.run(["git", "-C", self.tree, "archive", "HEAD"], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-xf", "-", "-C", archived], check=True, input=packed)
        self.assertEqual(self.written(archived)[1:3], (commit, DATE))

    def test_of_nobody_knows_what(self):
        self.assertEqual(self.written()[1:3], ("unknown", "unknown"))
        (self.tree / "cmake/source_commit").unlink()
        self.assertEqual(self.written()[1:3], ("unknown", "unknown"))

    def test_the_date_may_be_told(self):
        self.assertEqual(self.written(SOURCE_DATE_EPOCH="1000000000")[1:3], ("unknown", OTHER_DATE))
        commit = self.commit()
        self.assertEqual(self.written(SOURCE_DATE_EPOCH="1000000000")[1:3], (commit, OTHER_DATE))

    def test_what_is_the_same_is_not_written_again(self):
        self.commit()
        self.written()
        os.utime(self.out, (1, 1))
        self.written()
        self.assertEqual(self.out.stat().st_mtime, 1)
        self.git("commit", "--quiet", "--allow-empty", "--message", "two")
        self.written()
        self.assertNotEqual(self.out.stat().st_mtime, 1)


if __name__ == "__main__":
    unittest.main()
