#!/usr/bin/env python3
"""What counts as linked: by lines as objdump lists them, and in a program that is built here."""

import pathlib
import subprocess
import tempfile
import unittest

import linked_code

LISTING = """
CU: privd/CMakeFiles/x.dir/Unity/unity_0_cxx.cxx:
File name                            Line number    Starting address    View    Stmt
main.cc                                       17              0x9b10               x

/usr/include/c++/12/bits/basic_string.h:
basic_string.h                              3888              0x9b27               x

./privd/gate/main.cc:
main.cc                                       18              0x9b2e       1       x
main.cc                                        -              0x9b4c
main.cc                                       19              0x9b50               x

ipc/base/hex.h:
hex.h                                          7                 0x0               x
hex.h                                          8              0xa000               x

CU: ipc/x.cc:
main.cc                                       20              0x9b60               x
"""

SOURCE = """#include "a.h"
// Not code.
namespace vfiogate {
namespace {

struct Pair {
  int left;  // no function
};

int helper(int a,
           int b) {
  // Why.
  return a *

         b;
}

}  // namespace

constexpr int kTable[] = {
    1,
};
int declared(int a,
             int b);
int one(int a) { return helper(a, a); }
class Both {
public:
  int first() const { return 1; }
  int second() const;
};

}  // namespace vfiogate
"""


class Rows(unittest.TestCase):
    def test_a_name_alone_is_that_file_of_its_unit(self):
        path = "privd/gate/main.cc"
        self.assertEqual({line for line in linked_code.rows_of(LISTING, 0x9000, 0xA000) if line[0].startswith("privd")},
                         {(path, 17), (path, 18), (path, 19)})

    def test_what_lies_outside_the_section_was_taken_away(self):
        paths = {path for path, _ in linked_code.rows_of(LISTING, 0x9000, 0xA000)}
        self.assertEqual(paths, {"privd/gate/main.cc", "/usr/include/c++/12/bits/basic_string.h"})
        self.assertIn(("ipc/base/hex.h", 8), linked_code.rows_of(LISTING, 0x9000, 0xA001))


class Definitions(unittest.TestCase):
    def test_are_those_of_the_top_level(self):
        rows = SOURCE.splitlines()
        firsts = [rows[definition[0] - 1] for definition in linked_code.definitions(rows)]
        self.assertEqual(firsts, ["struct Pair {", "int helper(int a,", "constexpr int kTable[] = {", "int declared(int a,",
                                  "int one(int a) { return helper(a, a); }", "class Both {"])

    def counted(self, *numbers: int) -> int:
        return len(linked_code.whole_definitions({("a.cc", number) for number in numbers}, {"a.cc": SOURCE.splitlines()}))

    def test_one_line_counts_all_of_its_definition_without_blanks_and_comments(self):
        self.assertEqual(self.counted(13), 5)
        self.assertEqual(self.counted(13, 15), 5)
        self.assertEqual(self.counted(28), 5)
        self.assertEqual(self.counted(25), 1)

    def test_what_is_in_no_definition_does_not_count(self):
        self.assertEqual(self.counted(3, 4, 9, 32), 0)


class Built(unittest.TestCase):
    def test_what_nothing_calls_is_not_counted(self):
        with tempfile.TemporaryDirectory() as place:
            root = pathlib.Path(place)
            (root / "used.h").write_text("inline int used(int a) {\n  return a + 1;\n}\ninline int unused() {\n  return 2;\n}\n")
            (root / "main.cc").write_text('#include "used.h"\n\nint gone() {\n  return unused();\n}\n\n'
                                          "int main(int count, char**) {\n  return used(count);\n}\n")
            subprocess.run(["git", "init", "-q", root], check=True)
            subprocess.run(["g++", "-g1", "-O2", "-ffunction-sections", f"-ffile-prefix-map={root}=.", "-Wl,--gc-sections",
                            root / "main.cc", "-o", root / "program"], check=True)
            self.assertEqual(linked_code.linked_lines(root / "program", root),
                             {("main.cc", 7), ("main.cc", 8), ("main.cc", 9), ("used.h", 1), ("used.h", 2), ("used.h", 3)})
            subprocess.run(["strip", root / "program"], check=True)
            with self.assertRaisesRegex(SystemExit, "no line information"):
                linked_code.linked_lines(root / "program", root)


if __name__ == "__main__":
    unittest.main()
