#pragma once
// Tables for a terminal.

#include <string>
#include <vector>

namespace vfiogate {

enum class Ink { kPlain, kGood, kBad, kBusy, kDim, kHeading };

struct Cell {
  std::string text;
  Ink ink = Ink::kPlain;
};

struct Column {
  std::string title;
  /// May be cut, with "...", where the terminal is too narrow; addresses and reasons never are.
  bool mayShrink = false;
};

/// The rows under their headings, columns aligned, at most `width` wide where the columns that may
/// shrink allow it (0: no limit). With `colours`, escape sequences. An empty row is an empty line.
std::string formatTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, std::size_t width,
                        bool colours);

/// The width of the terminal on stdout; 0: it is none.
std::size_t terminalWidth();
/// True if stdout is a terminal and NO_COLOR is not set.
bool wantsColours();

}  // namespace vfiogate
