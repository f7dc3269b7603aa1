#pragma once
// Tables for a terminal, and times and counts in them.

#include <cstdint>
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
  /// May be cut, with "...", where the terminal is too narrow; addresses and states never are.
  bool mayShrink = false;
  /// So many bytes at the end of a cell are kept where it is cut: ids behind a name.
  std::size_t keepEnd = 0;
};

/// The rows under their headings, columns aligned, at most `width` wide where the columns that may
/// shrink allow it (0: no limit). With `colours`, escape sequences. An empty row is an empty line.
/// Each of `notes` that is not empty is a line below the row of its place, cut to `width`.
std::string formatTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, std::size_t width, bool colours,
                        const std::vector<std::string>& notes = {});

/// How wide the table is where nothing is cut.
std::size_t widthOf(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows);

/// The text, or what fits of it into `width` bytes: "..." stands for what was cut, and its last
/// `keepEnd` bytes are kept.
std::string cutText(const std::string& text, std::size_t width, std::size_t keepEnd);

/// The cell's text in its colour, by escape sequences.
std::string inked(const Cell& cell);

/// What COLUMNS says, where it is a number, else the width of the terminal on stdout; 0: it is
/// none.
std::size_t terminalWidth();
/// True if stdout is a terminal and NO_COLOR is not set.
bool wantsColours();

/// "1 device", "2 devices".
inline std::string counted(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

/// In the time zone of whoever asks: "13:03:57" where it is less than a day before `now`, else
/// "2026-11-22 13:03". Both in seconds since 1970.
std::string momentText(std::int64_t moment, std::int64_t now);

/// The same of "2026-11-22T05:35:07Z", with or without parts of a second; as it is where it is no
/// such time.
std::string momentText(const std::string& rfc3339, std::int64_t now);

/// The same with its date, whenever it is: for what may be read much later.
std::string datedText(const std::string& rfc3339);

/// A text for people, with each such time in it as momentText() has it.
std::string momentsIn(const std::string& text, std::int64_t now);

/// Seconds since 1970.
std::int64_t secondsSince1970();

}  // namespace vfiogate
