#include "cli/table.h"

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

std::string cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return text.substr(0, width - 3) + "...";
}

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

void shrink(const std::vector<Column>& columns, std::vector<std::size_t>& widths,
            std::size_t width) {
  const std::size_t total =
      std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kGap);
  std::size_t excess = width == 0 || total <= width ? 0 : total - width;
  for (std::size_t i = 0; i < columns.size() && excess > 0; ++i) {
    if (!columns[i].mayShrink || widths[i] <= kNarrowest) continue;
    const std::size_t less = std::min(excess, widths[i] - kNarrowest);
    widths[i] -= less;
    excess -= less;
  }
}

std::string lineOf(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                   bool colours) {
  std::string line;
  std::size_t blanks = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string text = cut(row[i].text, widths[i]);
    line += std::string(blanks, ' ');
    const bool inked = colours && row[i].ink != Ink::kPlain && !text.empty();
    line += inked ? escapeOf(row[i].ink) + text + "\033[0m" : text;
    blanks = widths[i] - text.size() + kGap;
  }
  return line + "\n";
}

}  // namespace

std::string formatTable(const std::vector<Column>& columns,
                        const std::vector<std::vector<Cell>>& rows, std::size_t width,
                        bool colours) {
  std::vector<std::size_t> widths = widthsOf(columns, rows);
  shrink(columns, widths, width);
  std::vector<Cell> head;
  for (const Column& column : columns) head.push_back({column.title, Ink::kHeading});
  std::string table = lineOf(head, widths, colours);
  for (const auto& row : rows) table += lineOf(row, widths, colours);
  return table;
}

std::size_t terminalWidth() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool wantsColours() {
  const char* noColor = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (noColor == nullptr || *noColor == '\0');
}

}  // namespace vfiogate
