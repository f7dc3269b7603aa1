#include "cli/table.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

const std::vector<Column> kColumns = {{"ADDRESS"}, {"DEVICE", true}, {"STATE"}};
const std::vector<std::vector<Cell>> kRows = {
    {{"0000:01:00.0"}, {"a device with a long name"}, {"passable", Ink::kGood}}};

TEST(Table, AlignsColumns) {
  EXPECT_EQ(formatTable(kColumns, kRows, 0, false),
            "ADDRESS       DEVICE                     STATE\n"
            "0000:01:00.0  a device with a long name  passable\n");
}

TEST(Table, CutsOnlyWhatMayShrink) {
  EXPECT_EQ(formatTable(kColumns, kRows, 40, false),
            "ADDRESS       DEVICE            STATE\n"
            "0000:01:00.0  a device with...  passable\n");
}

TEST(Table, KeepsTheIdsBehindANameThatItCuts) {
  const std::vector<Column> columns = {{"ADDRESS"}, {"DEVICE", true, 12}, {"STATE"}};
  const std::vector<std::vector<Cell>> rows = {
      {{"0000:01:00.0"}, {"a device with a long name [10de:2684]"}, {"passable"}}};
  EXPECT_EQ(formatTable(columns, rows, 50, false),
            "ADDRESS       DEVICE                      STATE\n"
            "0000:01:00.0  a device wi... [10de:2684]  passable\n");
}

TEST(Table, HasNotesBelowRowsAndCutsThemLast) {
  const std::vector<std::vector<Cell>> rows = {{{"0000:01:00.0"}, {"a"}, {"passable"}},
                                               {{"0000:02:00.0"}, {""}, {""}}};
  EXPECT_EQ(formatTable(kColumns, rows, 32, false, {"", "a note that is longer than that"}),
            "ADDRESS       DEVICE  STATE\n"
            "0000:01:00.0  a       passable\n"
            "0000:02:00.0\n"
            "       a note that is longer ...\n");
}

TEST(Table, WritesColoursOnlyWhenAsked) {
  EXPECT_EQ(formatTable(kColumns, kRows, 0, false).find('\033'), std::string::npos);
  EXPECT_NE(formatTable(kColumns, kRows, 0, true).find("\033[32mpassable\033[0m"),
            std::string::npos);
}

}  // namespace
}  // namespace vfiogate
