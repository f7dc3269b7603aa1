#include "cli/common_options.h"
#include "ipc/codec/snapshot_codec.h"
#include "ipc/socket/unix_socket.h"
#include "privd/cli/base/daemon_session.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/commands.h"

#include <CLI/CLI.hpp>

#include <kj/async-io.h>
#include <kj/debug.h>

#include <cstring>
#include <iostream>

namespace vfiogate {
namespace {

/// Prints what changed between two snapshots, one line a device.
class ChangePrinter {
public:
  ChangePrinter(bool json, PciIds names) : json_(json) { view_.names = std::move(names); }

  void take(std::uint64_t generation, Snapshot after) {
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

  const Snapshot& snapshot() const { return view_.snapshot; }

private:
  static std::string stateIn(const Snapshot& snapshot, const PciDevice& device) {
    return stateOf(snapshot, snapshot.devices.at(device.address));
  }

  void print(const char* event, std::uint64_t generation, const PciDevice& device) {
    if (json_) {
      const nlohmann::ordered_json line = {
          {"event", event}, {"generation", generation}, {"device", deviceJson(view_, device)}};
      std::cout << line.dump() << "\n";
      return;
    }
    std::cout << generation << " " << event << " " << device.address.str()
              << " group=" << (device.group ? std::to_string(device.group->number()) : "-")
              << " driver=" << (device.driver.empty() ? "-" : jsonText(device.driver))
              << " state=" << stateOf(view_.snapshot, device) << " "
              << jsonText(view_.deviceName(device)) << "\n";
  }

  void printRemoved(std::uint64_t generation, const Bdf& address) const {
    if (json_) {
      const nlohmann::ordered_json line = {
          {"event", "removed"}, {"generation", generation}, {"address", address.str()}};
      std::cout << line.dump() << "\n";
    } else {
      std::cout << generation << " removed " << address.str() << "\n";
    }
  }

  bool json_;
  NodeView view_;
};

class WatchObserver final : public schema::Observer::Server {
public:
  explicit WatchObserver(ChangePrinter& printer) : printer_(printer) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    auto decoded = decode(context.getParams().getUpdate());
    KJ_REQUIRE(decoded.has_value(), "privd sent what makes no sense", decoded.error().what);
    const Update& update = decoded->update;
    if (const auto* whole = std::get_if<Snapshot>(&update.content)) {
      printer_.take(update.generation, *whole);
    } else {
      const auto& delta = std::get<UpdateDelta>(update.content);
      printer_.take(update.generation, apply(printer_.snapshot(), delta.changes));
    }
    return kj::READY_NOW;
  }

private:
  ChangePrinter& printer_;
};

/// Watches until the daemon leaves; returns why in words.
std::string watchUntilItEnds(kj::AutoCloseFd socket, ChangePrinter& printer) {
  auto io = kj::setupAsyncIo();
  DaemonSession daemon(io, kj::mv(socket));
  auto session = daemon.enter();
  if (!session) return session.error();
  auto watch = kj::mv(session).value().watchRequest();
  watch.setObserver(kj::heap<WatchObserver>(printer));
  auto watching = watch.send().wait(io.waitScope);
  if (watching.getAnswer().isDenied()) return "the daemon does not let this user watch";
  daemon.ended().wait(io.waitScope);
  return "the daemon closed the connection";
}

int watch(const std::string& socketPath, bool json, const std::string& pciIds) {
  auto dialled = dialAt(socketPath.c_str());
  if (!dialled) {
    std::cerr << "privd watch: " << socketPath << ": " << strerror(dialled.error().error)
              << ": is privd serve running, and are you root?\n";
    return 1;
  }
  ChangePrinter printer(json, PciIds::load(pciIds));
  std::string why;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 why = watchUntilItEnds(kj::mv(dialled).value(), printer);
               })) {
    why = exception->getDescription().cStr();
  }
  std::cerr << "privd watch: " << why << "\n";
  return 1;
}

}  // namespace

void addWatchCommand(CLI::App& app, int& exitCode) {
  CLI::App* command =
      app.add_subcommand("watch", "what the daemon sees, and every change as it happens");
  auto socket = std::make_shared<std::string>("/run/vfiogate/privd/privd.sock");
  auto form = std::make_shared<std::string>("text");
  auto pciIds = std::make_shared<std::string>(ViewOptions().pciIds);
  command->add_option("--socket", *socket, "the daemon's socket")->capture_default_str();
  command->add_option("--pci-ids", *pciIds, "names of devices and classes")->capture_default_str();
  addOutputForm(*command, *form, {"text", "json"});
  command->callback(
      [socket, form, pciIds, &exitCode]() { exitCode = watch(*socket, *form == "json", *pciIds); });
}

}  // namespace vfiogate
