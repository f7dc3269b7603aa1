#include "privd/cli/policy/self_test.h"

#include "privd/cli/policy/main_paths.h"

#include <unistd.h>

#include <cstring>
#include <exception>

namespace vfiogate {
namespace {

template <typename Body>
void tryIn(SelfTest& test, Body body) {
  const auto end = watchChild([&body]() { _exit(body()); });
  if (!end) {
    test.failure = std::string("no child could be made: ") + strerror(end.error());
    return;
  }
  addEnd(test, *end);
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

}  // namespace vfiogate
