#pragma once
// What a person may tell a running program, one command a line.
// The socket on which a running program takes commands: one line in, lines out, closed.

#include "ipc/base/result.h"

#include <kj/io.h>

#include <algorithm>
#include <functional>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace vfiogate::sim {

/// A line's words; the first is the command's name.
using Words = std::vector<std::string>;

/// `Target`: what the command is carried out on.
template <typename Target>
struct Command {
  const char* name;
  const char* arguments;
  std::size_t least;  ///< words, with the name
  std::size_t most;
  const char* what;
  std::string (*act)(Target&, const Words&);
};

/// For `most`: any number.
inline constexpr std::size_t kMany = 64;

/// One line each, with what they do from `column` on.
template <typename Target>
void printCommands(const std::vector<Command<Target>>& commands, int column, std::ostream& out) {
  for (const Command<Target>& each : commands) {
    out << std::left << std::setw(column) << std::string(each.name) + " " + each.arguments
        << each.what << "\n";
  }
}

/// Why a line is no command.
struct NotUnderstood {
  enum class Why { kEmpty, kUnknown, kArguments };
  Why why;
  std::string text;  ///< for people
};

/// The command and its words, or why there is none.
template <typename Target>
std::variant<std::pair<const Command<Target>*, Words>, NotUnderstood> readCommand(
    const std::vector<Command<Target>>& commands, const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty()) {
    return NotUnderstood{NotUnderstood::Why::kEmpty, "say a command; `help` lists them"};
  }
  const auto found = std::ranges::find(commands, words[0], &Command<Target>::name);
  if (found == commands.end()) {
    return NotUnderstood{NotUnderstood::Why::kUnknown,
                         "\"" + words[0] + "\" is no command; `help` lists them"};
  }
  if (words.size() < found->least || words.size() > found->most) {
    return NotUnderstood{NotUnderstood::Why::kArguments,
                         words[0] + " is used so: " + words[0] + " " + found->arguments};
  }
  return std::pair(&*found, std::move(words));
}

class CommandListener {
public:
  /// Listens at `path`, mode 0600. Fails with the reason.
  static Result<CommandListener, std::string> open(const std::string& path);

  /// Takes one command after the other until `stopFd` (borrowed) is readable.
  void serve(int stopFd, const std::function<std::string(const std::string&)>& answer) const;

private:
  explicit CommandListener(kj::AutoCloseFd listener) : listener_(kj::mv(listener)) {}

  kj::AutoCloseFd listener_;
};

}  // namespace vfiogate::sim
