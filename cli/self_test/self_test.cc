#include "cli/self_test/self_test.h"

#include "cli/common_options.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

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

}  // namespace

ScratchDirectory::ScratchDirectory(mode_t mode)
    : path_(std::filesystem::temp_directory_path() / "vfiogate-self-test-XXXXXX") {
  const bool made = mkdtemp(path_.data()) != nullptr;
  if (!made || chmod(path_.c_str(), mode) != 0) {
    throw std::system_error(errno, std::generic_category(), path_);
  }
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code leftThere;
  std::filesystem::remove_all(path_, leftThere);
}

void addEnd(SelfTest& test, const ChildEnd& end) {
  test.failure = failureOf(end);
  if (end.killed) {
    test.killedCall = end.killed->name;
    test.killedNumber = end.killed->number;
  }
  readSteps(end.said, test);
}

std::string selfTestAs(const std::string& form, const std::string& program, const SelfTest& test) {
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
  if (test.failure.empty())
    return text + "passed: " + program + " can live under its filters here\n";
  return text + test.log + "failed: " + test.failure + "\n";
}

}  // namespace vfiogate
