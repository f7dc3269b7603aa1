#include "privd/cli/binding/bind_declared.h"

#include "cli/common_options.h"
#include "privd/base/instance_lock.h"
#include "privd/bind/plan/declaration.h"
#include "privd/scan/pci_scan.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <ostream>

namespace vfiogate {
namespace {

bool isAnythingKept(const std::string& stateDir) {
  std::error_code notThere;
  return !std::filesystem::is_empty(stateDir + "/declared", notThere) && !notThere;
}

Result<Snapshot, std::string> scanFor(const LocalBindingOptions& options) {
  const auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return Failure{"--sysfs " + options.sysfs + ": " + strerror(sysfs.error().error)};
  const auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{"--dev " + options.dev + ": " + strerror(dev.error().error)};
  auto snapshot = scan(*sysfs, *dev);
  if (!snapshot) return Failure{std::string("sysfs: ") + strerror(snapshot.error().error)};
  return std::move(snapshot).value();
}

std::optional<DeviceIdentity> keptAt(const std::vector<DeviceIdentity>& kept, const Bdf& address) {
  const auto found = std::ranges::find(kept, address, &DeviceIdentity::address);
  return found == kept.end() ? std::nullopt : std::optional(*found);
}

int refuse(const ChangeDisplay& display, const std::string& why) {
  display.err << "privd bind: " << why << "\n";
  return 1;
}

int bindEach(const ChangeOrder& order, const DeclaredDevices& declared,
             const ControlOptions& options, const BindingServiceMaker& makeLocal,
             kj::AsyncIoContext& io, const ChangeDisplay& display) {
  if (declared.selectors.empty() && !isAnythingKept(options.local.stateDir)) {
    display.out << "nothing is declared\n";
    return 0;
  }
  auto lock = InstanceLock::open(options.local.stateDir);
  if (!lock) {
    return refuse(display,
                  "--state-dir " + options.local.stateDir + ": " + strerror(lock.error().error));
  }
  InstanceLock node = kj::mv(lock).value();
  if (!node.tryTake()) {
    display.out << "a daemon runs, which binds what is declared by itself (" << node.holder()
                << ")\n";
    return 0;
  }
  auto made = makeLocal(options.local, io);
  if (!made) return refuse(display, made.error());
  kj::Own<BindingService> service = kj::mv(made).value();
  BindingService& asked = *service;
  const auto snapshot = scanFor(options.local);
  if (!snapshot) return refuse(display, snapshot.error());
  const auto kept = asked.declared();
  if (!kept) return refuse(display, kept.error());
  int exitCode = 0;
  for (const auto& [address, device] : snapshot->devices) {
    if (vfsFor(device, declared.vfs)) continue;
    const auto by = declaredBy(device, declared.selectors, keptAt(*kept, address));
    if (!by) continue;
    ChangeAsked one{order, *by, {"privd", geteuid(), getpid()}};
    one.order.addresses = {address};
    exitCode = std::max(exitCode, runChange(asked, io, one, options, display));
  }
  return exitCode;
}

}  // namespace

int bindDeclared(const ChangeOrder& order, const DeclaredDevices& declared,
                 const ControlOptions& options, const BindingServiceMaker& makeLocal,
                 kj::AsyncIoContext& io, const ChangeDisplay& display) {
  if (!isDocument(display.form)) return bindEach(order, declared, options, makeLocal, io, display);
  auto list = nlohmann::ordered_json::array();
  const ChangeDisplay gathering{display.err,   display.err,      display.form,
                                display.style, display.patience, &list};
  const int exitCode = bindEach(order, declared, options, makeLocal, io, gathering);
  display.out << documentText(list, display.form);
  return exitCode;
}

}  // namespace vfiogate
