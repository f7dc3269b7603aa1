#include "plugind/cli/ask.h"

#include "cli/table.h"
#include "plugind/cli/status_table.h"
#include "plugind/desk/desk_client.h"

#include <unistd.h>

#include <iostream>

namespace vfiogate {
namespace {

DeskQuestion questionOf(const CommandLine& line) {
  if (line.address) return ExplainQuestion{*line.address};
  if (line.form == "metrics") return MetricsQuestion{};
  return StatusQuestion{};
}

void print(const CommandLine& line, const std::string& answer) {
  if (line.form != "table") {
    std::cout << answer << (answer.ends_with('\n') ? "" : "\n");
  } else if (line.act == CommandLine::Act::kExplain) {
    std::cout << explanationText(nlohmann::json::parse(answer));
  } else {
    std::cout << statusTable(nlohmann::json::parse(answer), terminalWidth(), wantsColours());
  }
}

}  // namespace

int ask(const CommandLine& line) {
  // plugind takes its own user only: root becomes it, and has no need of its power here.
  if (geteuid() == 0) {
    Remaining remaining;
    remaining.identity = line.user;
    if (const auto failure = dropPrivileges(remaining)) {
      std::cerr << "plugind: " << failure->str() << "\n";
      return 1;
    }
  }
  const auto answer = askDesk(line.listen, questionOf(line), line.timeout);
  if (!answer) {
    std::cerr << "plugind: " << answer.error() << "\n";
    return 1;
  }
  print(line, *answer);
  return 0;
}

}  // namespace vfiogate
