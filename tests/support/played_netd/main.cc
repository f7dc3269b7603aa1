// played-netd: netd's user at plugind's socket, with files in place of the Kubernetes API.

#include "netd/base/become_nobody.h"
#include "netd/base/log_line.h"
#include "netd/dra/plugind_attachment.h"
#include "rootless/start.h"
#include "tests/support/played_netd/played_api.h"

#include <CLI/CLI.hpp>

#include <random>

namespace vfiogate::test {
namespace {

/// netd's, unless told otherwise.
constexpr Identity kNetd{64533, 64533};
constexpr std::uint64_t kMostMemory = std::uint64_t{112} << 20U;

struct Wish {
  std::string plugind;
  std::string node;
  ApiFiles files;
};

int attach(const Wish& wish) {
  startNetdLog(LogForm::kLogfmt);
  if (const auto failure = becomeNobody(kNetd, {}, kMostMemory)) {
    return startFailed("drop", failure->str());
  }
  captureEndSignals();
  auto io = kj::setupAsyncIo();
  auto toldToEnd = whenToldToEnd(io);
  std::mt19937_64 random{std::random_device{}()};
  PlugindAttachment attachment(
      {*io.lowLevelProvider, io.provider->getTimer(),
       [&random]() { return std::uniform_real_distribution<double>(0, 1)(random); },
       [&wish]() { return kj::heap<PlayedApi>(wish.files, wish.node); }, wish.plugind, wish.node});
  toldToEnd.exclusiveJoin(attachment.run()).wait(io.waitScope);
  return 0;
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  CLI::App app{"Stands in for netd dra: claims from a file, the node's pool into one."};
  vfiogate::test::Wish wish;
  app.add_option("--plugind", wish.plugind, "plugind's socket")->required();
  app.add_option("--node", wish.node, "the Node's name")->required();
  app.add_option("--claims", wish.files.claims,
                 "lines NAMESPACE/NAME UID DEVICE... [bind=never]; read at each question")
      ->required();
  app.add_option("--pool", wish.files.pool,
                 "written at each publish: a line a device, its name and its taint; its directory "
                 "must be writable for uid 64533")
      ->required();
  CLI11_PARSE(app, argc, argv);
  return vfiogate::test::attach(wish);
}
