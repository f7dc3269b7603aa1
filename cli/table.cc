#include "cli/table.h"

#include "ipc/base/hex.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace vfiogate {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 12;

const char* escapeOf(Ink ink) {
  switch (ink) {
    case Ink::kPlain:
      return "";
    case Ink::kGood:
      return "\033[32m";
    case Ink::kBad:
      return "\033[31m";
    case Ink::kBusy:
      return "\033[33m";
    case Ink::kDim:
      return "\033[2m";
    case Ink::kHeading:
      return "\033[1m";
  }
  return "";
}

constexpr std::size_t kNoteIndent = 7;

std::vector<std::size_t> widthsOf(const std::vector<Column>& columns,
                                  const std::vector<std::vector<Cell>>& rows) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(column.title.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].text.size());
  }
  return widths;
}

std::size_t sumOf(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kGap);
}

void shrink(const std::vector<Column>& columns, std::vector<std::size_t>& widths,
            std::size_t width) {
  const std::size_t total = sumOf(widths);
  std::size_t excess = width == 0 || total <= width ? 0 : total - width;
  for (std::size_t i = 0; i < columns.size() && excess > 0; ++i) {
    const std::size_t narrowest = kNarrowest + columns[i].keepEnd;
    if (!columns[i].mayShrink || widths[i] <= narrowest) continue;
    const std::size_t less = std::min(excess, widths[i] - narrowest);
    widths[i] -= less;
    excess -= less;
  }
}

std::string inked(const std::string& text, Ink ink, bool colours) {
  if (!colours || ink == Ink::kPlain || text.empty()) return text;
  return escapeOf(ink) + text + "\033[0m";
}

std::string noteOf(const std::string& text, std::size_t width, bool colours) {
  const std::size_t room = width <= kNoteIndent ? text.size() : width - kNoteIndent;
  return std::string(kNoteIndent, ' ') + inked(cutText(text, room, 0), Ink::kDim, colours) + "\n";
}

std::string lineOf(const std::vector<Column>& columns, const std::vector<Cell>& row,
                   const std::vector<std::size_t>& widths, bool colours) {
  std::string line;
  std::size_t blanks = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string text = cutText(row[i].text, widths[i], columns[i].keepEnd);
    if (text.empty()) {
      blanks += widths[i] + kGap;
      continue;
    }
    line += std::string(blanks, ' ');
    line += inked(text, row[i].ink, colours);
    blanks = widths[i] - text.size() + kGap;
  }
  return line + "\n";
}

}  // namespace

std::string cutText(const std::string& text, std::size_t width, std::size_t keepEnd) {
  if (text.size() <= width) return text;
  if (width < keepEnd + 3) return text.substr(0, width);
  return text.substr(0, width - 3 - keepEnd) + "..." + text.substr(text.size() - keepEnd);
}

std::string formatTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, std::size_t width, bool colours,
                        const std::vector<std::string>& notes) {
  std::vector<std::size_t> widths = widthsOf(columns, rows);
  shrink(columns, widths, width);
  std::vector<Cell> head;
  for (const Column& column : columns) head.push_back({column.title, Ink::kHeading});
  std::string table = lineOf(columns, head, widths, colours);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table += lineOf(columns, rows[i], widths, colours);
    if (i < notes.size() && !notes[i].empty()) table += noteOf(notes[i], width, colours);
  }
  return table;
}

std::size_t widthOf(const std::vector<Column>& columns,
                    const std::vector<std::vector<Cell>>& rows) {
  return sumOf(widthsOf(columns, rows));
}

std::string inked(const Cell& cell) {
  return inked(cell.text, cell.ink, true);
}

std::size_t terminalWidth() {
  const char* columns = std::getenv("COLUMNS");
  const auto wanted = parseDecimal(columns == nullptr ? "" : columns);
  if (wanted && *wanted > 0) return *wanted;
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool wantsColours() {
  const char* noColor = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (noColor == nullptr || *noColor == '\0');
}

}  // namespace vfiogate
