#include "plugind/loop/serve.h"

#include "cli/pci_ids.h"
#include "plugind/base/log_line.h"
#include "plugind/base/own_process.h"
#include "plugind/base/task_queue.h"
#include "plugind/control/control_server.h"
#include "plugind/dra/dra_driver.h"
#include "plugind/loop/ledger_journal.h"
#include "plugind/loop/state_loop.h"
#include "plugind/privd/link/privd_link.h"
#include "rootless/start.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/landlock.h"
#include "seccomp/load_filter.h"

#include <kj/async-io.h>

#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <utility>

namespace vfiogate {
namespace {

int failed(const std::string& step, const std::string& why) {
  logError(LogEvent::kStartFailed, {{"step", step}, {"why", why}});
  return 1;
}

/// Tells one boot from the next; before the lock-down, which allows no file. Empty: not readable.
std::string readBootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

/// Ids change before the socket is made: privd judges who called listen().
std::optional<StepFailure> becomeNobody(const Identity& user) {
  if (auto failed = limitOurselves()) return failed;
  return becomeUser(user, {}, [&user]() {
    logWarning(LogEvent::kNotRoot, {{"uid", geteuid()},
                                    {"wanted_uid", user.uid},
                                    {"then", "stays who it is: privd needs this --plugind-uid"}});
  });
}

/// Null: none is configured.
std::unique_ptr<DraDriver> draDriver(DraDriver::Identity identity, PrivdLink& privd,
                                     StateLoop& state, const LoopDeps& loop, uid_t kubeletUid) {
  if (identity.name.empty()) return nullptr;
  return std::make_unique<DraDriver>(std::move(identity), privd, state, loop, kubeletUid);
}

/// Anybody may read the file; after the lock-down nobody can. Empty where it cannot be read.
std::shared_ptr<const ProductNames> readProducts(const std::string& path) {
  auto products = std::make_shared<ProductNames>();
  const PciIds file = PciIds::load(path);
  for (const auto& [ids, name] : file.devices()) {
    products->emplace(
        Model{static_cast<std::uint16_t>(ids.first), static_cast<std::uint16_t>(ids.second)}, name);
  }
  if (products->empty()) {
    logWarning(
        LogEvent::kConfigWarning,
        {{"why", "--pci-ids " + path + " names no device: cannot be read, or is another file"},
         {"then", "models have their ids for names"}});
  }
  return products;
}

}  // namespace

int serve(const CommandLine& line, Config config, const Surroundings& around) {
  startLog(line.logForm);
  sayWhatEndsUs();
  for (const ConfigRemark& warning : config.warnings) {
    logWarning(LogEvent::kConfigWarning, {{"why", warning.str()}});
  }
  Settings settings = std::move(config.settings);
  if (settings.resources.empty()) {
    logWarning(LogEvent::kNothingNamed,
               {{"why", "nothing is advertised until something is named under `resources`"}});
  }
  // A buffer of its own choosing would make the C library ask the kernel what stdout is, later.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  std::mt19937 random(std::random_device{}());
  Node node{around.root, readBootId(), line.build};

  if (const auto failure = becomeNobody(line.user)) return failed("drop", failure->str());
  if (wantsProducts(settings)) node.products = readProducts(line.pciIds);
  auto listening = listenAlone(line.listen);
  if (!listening) return failed("listen " + line.listen, listening.error());
  captureEndSignals();
  auto io = kj::setupAsyncIo();
  auto toldToEnd = whenToldToEnd(io);
  const uid_t uid = geteuid();
  const Landlocked confined = confine({});
  if (confined.failure) return failed("landlock", confined.failure->str());
  if (const auto failure = loadFilter(around.filter)) return failed("filter", failure->str());

  const LoopDeps loop{io.unixEventPort, *io.lowLevelProvider, io.provider->getTimer(),
                      std::make_shared<TaskQueue>(), random};
  PrivdLink privd(
      kj::mv(listening).value(),
      {.privd = around.root, .hardware = line.hardwareUid, .own = uid, .netd = line.netdUid}, loop);
  LedgerJournal journal(std::cout);
  DraDriver::Identity driver{settings.dra.driver, node.products};
  StateLoop state(std::move(settings), privd, loop, journal, std::move(node));
  const auto dra = draDriver(std::move(driver), privd, state, loop, around.root);
  if (dra) state.serveClaims(*dra);
  ControlServer control(state, dra.get(), loop);
  privd.start(state, [&control](kj::AutoCloseFd connection, Visitor who) {
    control.admit(kj::mv(connection), who);
  });
  logInfo(LogEvent::kStarted, {{"version", line.build.version},
                               {"commit", line.build.commit},
                               {"date", line.build.date},
                               {"listen", line.listen},
                               {"uid", uid},
                               {"landlock", confined.abi}});

  toldToEnd.wait(io.waitScope);
  logInfo(LogEvent::kEnding, {{"why", "signal"}});
  // Not by the destructors: they would wait for gRPC's threads, and nothing here needs an end.
  std::_Exit(0);
}

}  // namespace vfiogate
