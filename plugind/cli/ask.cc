#include "plugind/cli/ask.h"

#include "cli/common_options.h"
#include "cli/picture/picture.h"
#include "cli/table.h"
#include "plugind/control/control_client.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace vfiogate {
namespace {

/// Between two questions of a probe that waits.
constexpr std::chrono::milliseconds kProbePause{100};

struct Probed {
  bool good;
  std::string text;
};

ControlQuestion questionOf(const CommandLine& line) {
  if (line.address) return ExplainQuestion{*line.address};
  if (line.form == "metrics") return MetricsQuestion{};
  return StatusQuestion{};
}

void print(const CommandLine& line, const std::string& answer) {
  if (line.act == CommandLine::Act::kFragment) {
    const nlohmann::json status = nlohmann::json::parse(answer);
    std::cout << (line.fragment == "kata" ? kataFragment(status) : kubevirtFragment(status));
  } else if (line.form == "yaml") {
    std::cout << documentText(nlohmann::ordered_json::parse(answer), line.form);
  } else if (line.form == "svg") {
    std::cout << svgOf(layOut(topologyOf(nlohmann::json::parse(answer))));
  } else if (line.form != "table") {
    std::cout << answer << (answer.ends_with('\n') ? "" : "\n");
  } else if (line.act == CommandLine::Act::kExplain) {
    std::cout << explanationText(nlohmann::json::parse(answer));
  } else {
    std::cout << statusTable(nlohmann::json::parse(answer), terminalWidth(), wantsColours(),
                             secondsSince1970());
  }
}

int failed(const std::string& why) {
  std::cerr << "plugind: " << why << "\n";
  return 1;
}

/// Of one device, or of plugind itself. Error: there is no answer.
Result<Probed, std::string> probeOnce(const CommandLine& line) {
  if (line.address) {
    const auto answer = askControl(line.listen, ExplainQuestion{*line.address}, line.timeout);
    if (!answer) return Failure{answer.error()};
    DeviceVerdict verdict = verdictOf(nlohmann::json::parse(*answer));
    return Probed{verdict.offered, std::move(verdict.text)};
  }
  const auto readiness = askReadiness(line.listen, line.timeout);
  if (!readiness) return Failure{readiness.error()};
  return Probed{readiness->ready, (readiness->ready ? "" : "not ready: ") + readiness->why};
}

int probe(const CommandLine& line) {
  const auto until = std::chrono::steady_clock::now() + line.wait;
  auto probed = probeOnce(line);
  while (!(probed && probed->good) && std::chrono::steady_clock::now() + kProbePause <= until) {
    std::this_thread::sleep_for(kProbePause);
    probed = probeOnce(line);
  }
  if (!probed) return failed(probed.error());
  std::cout << probed->text << "\n";
  return probed->good ? 0 : 1;
}

}  // namespace

int ask(const CommandLine& line) {
  // plugind takes its own user only: root becomes it, and has no need of its power here.
  if (geteuid() == 0) {
    Remaining remaining;
    remaining.identity = line.user;
    if (const auto failure = dropPrivileges(remaining)) return failed(failure->str());
  }
  if (line.act == CommandLine::Act::kProbe) return probe(line);
  const auto answer = askControl(line.listen, questionOf(line), line.timeout);
  if (!answer) return failed(answer.error());
  print(line, *answer);
  return 0;
}

}  // namespace vfiogate
