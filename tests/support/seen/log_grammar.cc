#include "tests/support/seen/log_grammar.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace vfiogate::test {
namespace {

constexpr std::size_t kLongestValue = 600;

bool isPrintable(char c) {
  return c >= 0x20 && c < 0x7f;
}

bool isLower(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._:/,+-@").find(c) != std::string_view::npos;
}

/// Reads a line from its begin; what it took is gone from the text.
class LineReader {
public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool ended() const { return rest_.empty(); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string_view takeWhile(bool (*holds)(char)) {
    const auto end = std::ranges::find_if_not(rest_, holds);
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// False: it does not end, or is too long, or has what should have been escaped.
  bool takeQuoted() {
    if (!take("\"")) return false;
    for (std::size_t length = 0; length < kLongestValue; ++length) {
      if (take("\"")) return true;
      if (take("\\\"") || take("\\\\")) continue;
      if (take("\\x")) {
        if (takeOne(isHex) && takeOne(isHex)) continue;
        return false;
      }
      if (rest_.starts_with("\\") || !takeOne(isPrintable)) return false;
    }
    return false;
  }
  bool takeValue() {
    if (rest_.starts_with("\"")) return takeQuoted();
    const std::string_view word = takeWhile(isWordCharacter);
    return !word.empty() && word.size() <= kLongestValue;
  }

private:
  static bool isHex(char c) {
    return std::string_view("0123456789abcdef").find(c) != std::string_view::npos;
  }
  bool takeOne(bool (*holds)(char)) {
    if (rest_.empty() || !holds(rest_.front())) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

std::string faultOfLogLine(std::string_view line) {
  LineReader reader(line);
  if (!reader.take("time=") || !reader.takeValue() || !reader.take(" ")) return "no time";
  if (!reader.take("level=") || reader.takeWhile(isLower).empty() || !reader.take(" ")) {
    return "no level";
  }
  if (!reader.take("event=")) return "no event";
  if (reader.takeWhile(isLower).empty()) return "no event's name";
  while (!reader.ended()) {
    if (!reader.take(" ")) return "no space before a key";
    if (reader.takeWhile(isLower).empty() || !reader.take("=")) return "no key";
    if (!reader.takeValue()) return "a value that is no word and not quoted and cut";
  }
  return {};
}

std::string faultOf(std::string_view line) {
  if (!line.starts_with('{')) return faultOfLogLine(line);
  if (!std::ranges::all_of(line, isPrintable)) return "an unprintable byte in the journal";
  return nlohmann::json::accept(line) ? "" : "no JSON";
}

}  // namespace

std::vector<std::string> logFaults(const std::string& output) {
  std::vector<std::string> faults;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::string fault = faultOf(line);
    if (!fault.empty()) faults.push_back(fault + ": " + line.substr(0, 400));
  }
  return faults;
}

std::string unprintableLine(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!std::ranges::all_of(line, isPrintable)) return line.substr(0, 400);
  }
  return {};
}

std::vector<std::string> hostileTexts() {
  using namespace std::string_literals;
  return {"a\nevent=started fake=1"s,
          "a\r\ntime=2026-01-01T00:00:00.000Z level=info event=started"s,
          "\x1b[2J\x1b]0;title\x07red"s,
          "x\" event=\"started"s,
          "back\\slash\\\" end"s,
          "nul\0event=started"s,
          "\xff\xfe\xc3("s,
          "\xc2\x9b"
          "2J\xe2\x80\xa8"s,
          "{{}}{0}%s%n"s,
          std::string(std::size_t{1} << 20U, 'A')};
}

}  // namespace vfiogate::test
