#include "privd/cli/policy/self_test.h"

#include "cli/common_options.h"
#include "privd/cli/policy/main_paths.h"
#include "privd/cli/policy/watched_child.h"

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <sstream>

namespace vfiogate {
namespace {

/// Empty: it ended well.
std::string failureOf(const ChildEnd& end) {
  if (end.killed) {
    return "the filter killed " +
           std::string(end.killed->forked ? "a child of the fork server" : "it") + " for " +
           end.killed->name + " (call " + std::to_string(end.killed->number) + ")";
  }
  if (WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSYS) {
    return "the filter killed it for a call that cannot be named here, where nothing may be "
           "traced";
  }
  if (WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGALRM) return "it did not end in time";
  if (WIFSIGNALED(end.status)) {
    return std::string("it died: ") + strsignal(WTERMSIG(end.status));
  }
  return WEXITSTATUS(end.status) == 0 ? "" : "it failed";
}

void readSteps(const std::string& said, SelfTest& test) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(">")) {
      test.steps.push_back(line.substr(1));
    } else if (!line.starts_with("!")) {
      test.log += line + "\n";
    } else if (test.killedCall.empty()) {
      test.failure = line.substr(1);
    }
  }
}

template <typename Body>
void tryIn(SelfTest& test, Body body) {
  const auto end = watchChild([&body]() { _exit(body()); });
  if (!end) {
    test.failure = std::string("no child could be made: ") + strerror(end.error());
    return;
  }
  test.failure = failureOf(*end);
  if (end->killed) {
    test.killedCall = end->killed->name;
    test.killedNumber = end->killed->number;
  }
  readSteps(end->said, test);
}

SelfTest testOn(const ScratchNode& node, const SelfTestTables& tables) {
  SelfTest test;
  tryIn(test, [&node, &tables]() { return goHardwarePaths(node, tables.hardware); });
  if (test.failure.empty()) {
    tryIn(test, [&node, &tables]() { return goGatePaths(node, tables.gate); });
  }
  if (test.failure.empty()) {
    tryIn(test, [&node, &tables]() { return goBinderPaths(node, tables.binder); });
  }
  if (test.failure.empty() && access(node.at("audit.jsonl.1").c_str(), F_OK) != 0) {
    test.failure = "the audit log was not rotated";
  }
  return test;
}

}  // namespace

SelfTest runSelfTest(const SelfTestTables& tables) {
  SelfTest test;
  if (geteuid() != 0) {
    test.failure = "only root can try what privd does: it is started as root";
    return test;
  }
  try {
    const ScratchNode node;
    return testOn(node, tables);
  } catch (const std::exception& error) {
    test.failure = std::string("no scratch node (TMPDIR says where): ") + error.what();
  }
  return test;
}

std::string selfTestAs(const std::string& form, const SelfTest& test) {
  if (isDocument(form)) {
    nlohmann::ordered_json whole = {{"passed", test.failure.empty()},
                                    {"steps", test.steps},
                                    {"failure", nullptr},
                                    {"killedCall", nullptr},
                                    {"killedNumber", nullptr}};
    if (!test.failure.empty()) whole["failure"] = test.failure;
    if (!test.killedCall.empty()) {
      whole["killedCall"] = test.killedCall;
      whole["killedNumber"] = test.killedNumber;
    }
    return documentText(whole, form);
  }
  std::string text;
  for (std::size_t i = 0; i < test.steps.size(); ++i) {
    const bool failed = !test.failure.empty() && i + 1 == test.steps.size();
    text += (failed ? "FAILED  " : "ok      ") + test.steps[i] + "\n";
  }
  if (test.failure.empty()) return text + "passed: privd can live under its filters here\n";
  return text + test.log + "failed: " + test.failure + "\n";
}

}  // namespace vfiogate
