#include "tests/support/played_netd/played_api.h"

#include "ipc/api/api_codec.h"
#include "tests/support/played_netd/claim_lines.h"

#include <kj/debug.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

namespace vfiogate::test {
namespace {

ClaimAnswer answerFrom(const std::string& path, const std::string& pool, const std::string& name) {
  std::ifstream file(path);
  if (!file) return ClaimUnread{"no file " + path};
  std::ostringstream text;
  text << file.rdbuf();
  auto claims = readClaimLines(text.str(), pool);
  if (!claims) return ClaimUnread{claims.error()};
  const auto found = claims->find(name);
  if (found == claims->end()) return ClaimGone{};
  return found->second;
}

std::string lineOf(const std::string& name, const PoolDevice& device) {
  return name + " " + (device.taints.empty() ? "-" : device.taints.front().value) + "\n";
}

}  // namespace

PlayedApi::PlayedApi(ApiFiles files, std::string node)
    : files_(std::move(files)), node_(std::move(node)) {}

kj::Promise<void> PlayedApi::claim(ClaimContext context) {
  const auto asked = context.getParams();
  const std::string name =
      std::string(asked.getClaimNamespace().cStr()) + "/" + asked.getName().cStr();
  encode(answerFrom(files_.claims, node_, name), context.getResults().initAnswer());
  return kj::READY_NOW;
}

kj::Promise<void> PlayedApi::publish(PublishContext context) {
  const auto pool = decode(context.getParams().getPool());
  KJ_REQUIRE(pool.has_value(), pool.error().c_str());
  // Whoever reads it meanwhile reads a whole one.
  const std::string draft = files_.pool + ".new";
  {
    std::ofstream file(draft);
    for (const auto& [name, device] : pool->devices) file << lineOf(name, device);
    KJ_REQUIRE(file.flush().good(), "cannot write", draft.c_str());
  }
  std::filesystem::rename(draft, files_.pool);
  encode(KeptFields{}, context.getResults().initKept());
  return kj::READY_NOW;
}

kj::Promise<void> PlayedApi::report(ReportContext context) {
  const auto report = decode(context.getParams().getReport());
  KJ_REQUIRE(report.has_value(), report.error().c_str());
  for (const ReportedDevice& device : report->devices) {
    std::cout << "reported " << report->claimNamespace << "/" << report->name << " "
              << device.address << " " << (device.ready ? "Ready" : device.reason) << std::endl;
  }
  return kj::READY_NOW;
}

}  // namespace vfiogate::test
