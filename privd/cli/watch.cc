#include "cli/common_options.h"
#include "privd/base/name_watch.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/device_state.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/commands.h"
#include "privd/scan/snapshot_source.h"
#include "privd/scan/uevent_socket.h"
#include "privd/state/state_directory.h"

#include <CLI/CLI.hpp>

#include <kj/async-io.h>

#include <algorithm>
#include <cstring>
#include <iostream>

namespace vfiogate {
namespace {

/// How soon a change of drivers is looked at again: nobody tells of its end.
constexpr auto kSoon = 500 * kj::MILLISECONDS;

/// What is watched, and how it is told.
struct WatchOptions {
  ViewOptions view;
  std::uint32_t rescanSeconds = 10;
  std::string form = "text";
};

/// Prints what changed between two snapshots, one line a device.
class ChangePrinter {
public:
  ChangePrinter(const WatchOptions& options, PciIds names)
      : form_(options.form), places_(options.view) {
    view_.names = std::move(names);
  }

  void take(std::uint64_t generation, Snapshot after) {
    markStates(after, places_.stateDir, places_.recordDir);
    const Snapshot before = std::exchange(view_.snapshot, std::move(after));
    for (const auto& [address, device] : view_.snapshot.devices) {
      const auto old = before.devices.find(address);
      if (old == before.devices.end()) {
        print("added", generation, device);
      } else if (old->second != device ||
                 stateIn(before, device) != stateOf(view_.snapshot, device)) {
        print("changed", generation, device);
      }
    }
    for (const auto& [address, device] : before.devices) {
      if (!view_.snapshot.devices.contains(address)) printRemoved(generation, address);
    }
    std::cout.flush();
  }

  /// When drivers are to be looked at again, where nothing tells of a change before.
  kj::Duration pause(kj::Duration rescan) const {
    const auto changes = [](const auto& each) { return each.second.binding.busy; };
    return std::ranges::any_of(view_.snapshot.groups, changes) ? kSoon : rescan;
  }

private:
  static std::string stateIn(const Snapshot& snapshot, const PciDevice& device) {
    return stateOf(snapshot, snapshot.devices.at(device.address));
  }

  void print(const char* event, std::uint64_t generation, const PciDevice& device) {
    if (isDocument(form_)) {
      printDocument(
          {{"event", event}, {"generation", generation}, {"device", deviceJson(view_, device)}});
      return;
    }
    std::cout << generation << " " << event << " " << device.address.str()
              << " group=" << (device.group ? std::to_string(device.group->number()) : "-")
              << " driver=" << (device.driver.empty() ? "-" : jsonText(device.driver))
              << " state=" << stateOf(view_.snapshot, device) << " "
              << jsonText(view_.deviceName(device)) << "\n";
  }

  /// JSON: one a line. YAML: a stream of documents.
  void printDocument(const nlohmann::ordered_json& change) const {
    if (form_ == "yaml") {
      std::cout << "---\n" << documentText(change, form_);
    } else {
      std::cout << change.dump() << "\n";
    }
  }

  void printRemoved(std::uint64_t generation, const Bdf& address) const {
    if (isDocument(form_)) {
      printDocument({{"event", "removed"}, {"generation", generation}, {"address", address.str()}});
    } else {
      std::cout << generation << " removed " << address.str() << "\n";
    }
  }

  std::string form_;
  ViewOptions places_;
  NodeView view_;
};

/// Prints what `source` sees, and each change, of operators' exclusions and of what is bound just
/// now, too, for ever.
[[noreturn]] void printChanges(SnapshotSource& source, NameWatch& exclusions,
                               ChangePrinter& printer, kj::Duration rescan,
                               kj::AsyncIoContext& io) {
  for (;;) {
    const std::uint64_t excluded = exclusions.count();
    const auto now = source.current();
    printer.take(now.generation, *now.snapshot);
    source.next(now.generation)
        .ignoreResult()
        .exclusiveJoin(exclusions.next(excluded).ignoreResult())
        .exclusiveJoin(io.provider->getTimer().afterDelay(printer.pause(rescan)))
        .wait(io.waitScope);
  }
}

/// Returns only where it cannot watch: why, in words.
std::string watch(const WatchOptions& options) {
  // Says what is wrong with the places, better than a source could.
  const auto view = NodeView::take(options.view);
  if (!view) return view.error();
  const auto sysfs = SysfsRoot::open(options.view.sysfs);
  const auto dev = DevRoot::open(options.view.dev);
  if (!sysfs || !dev) return options.view.sysfs + " or " + options.view.dev + " is gone";
  auto io = kj::setupAsyncIo();
  DiscoveryCounts counts;
  const kj::Duration rescan = options.rescanSeconds * kj::SECONDS;
  SnapshotSource source(io.provider->getTimer(), 0, Rescan::onlySweeps(rescan),
                        scanDeps(*sysfs, *dev), counts);
  if (source.current().generation == 0) return "--sysfs " + options.view.sysfs + ": is gone";
  kj::Maybe<UeventListener> uevents;
  auto socket = openUeventSocket();
  if (socket) {
    uevents.emplace(
        io.unixEventPort, kj::mv(socket).value(),
        [&source](const Places& where) { source.hint(where); }, counts);
  } else {
    std::cerr << "privd watch: the kernel's events: " << strerror(socket.error())
              << ": a change shows within --rescan\n";
  }
  ChangePrinter printer(options, view->names);
  NameWatch exclusions(io.unixEventPort, io.provider->getTimer(),
                       options.view.stateDir + "/" + kExclusionsFolder, "");
  printChanges(source, exclusions, printer, rescan, io);
}

}  // namespace

void addWatchCommand(CLI::App& app, int& exitCode) {
  CLI::App* command =
      app.add_subcommand("watch", "the devices that there are, and every change as it happens");
  auto options = std::make_shared<WatchOptions>();
  addViewOptions(*command, options->view);
  addRecordOption(*command, options->view);
  addRescanOption(*command, options->rescanSeconds);
  addOutputForm(*command, options->form, {"text", "json", "yaml"});
  command->callback([options, &exitCode]() {
    const std::string why = watch(*options);
    std::cerr << "privd watch: " << why << "\n";
    exitCode = 1;
  });
}

}  // namespace vfiogate
