#include "privd/cli/binding/local_binding_service.h"

#include "privd/audit/audit_log.h"
#include "privd/base/instance_lock.h"
#include "privd/bind/binding.h"
#include "privd/gate/plugind_lease.h"

#include <unistd.h>

#include <cstring>

namespace vfiogate {
namespace {

/// All that the daemon would have open, for the time of one command.
class LocalBindingService final : public BindingService {
public:
  struct Opened {
    InstanceLock lock;
    SysfsRoot sysfs;
    DevRoot dev;
    BindingDeps parts;
    AllocationRecords allocations;
    PlugindLease lease;
  };

  LocalBindingService(Opened opened, const BindingOptions& options, ForkServer server,
                      kj::AsyncIoContext& io)
      : opened_(kj::mv(opened)),
        binding_({opened_.sysfs, opened_.dev, opened_.allocations, opened_.lease, io.unixEventPort,
                  io.provider->getTimer(),
                  /*plugindUid=*/0, /*allocates=*/false},
                 kj::mv(opened_.parts), options, kj::mv(server)) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer who) override {
    return binding_.operators().change(kj::mv(order), kj::mv(who));
  }
  Result<Done, std::string> exclude(const Bdf& address, const std::string& reason,
                                    const AuditPeer& who) override {
    return binding_.operators().exclude(address, reason, who);
  }
  Result<Done, std::string> release(const Bdf& address, const AuditPeer& who) override {
    return binding_.operators().release(address, who);
  }
  Result<Done, std::string> forget(const Bdf& address, const AuditPeer& who) override {
    return binding_.operators().forget(address, who);
  }
  std::vector<Exclusion> exclusions() override { return binding_.operators().exclusions(); }
  std::vector<DeviceIdentity> declared() override { return binding_.operators().declared(); }

private:
  Opened opened_;
  Binding binding_;
};

std::string because(const std::string& what, int error) {
  return what + ": " + strerror(error) + (error == EACCES ? ": are you root?" : "");
}

}  // namespace

Result<kj::Own<BindingService>, std::string> makeLocalBindingService(
    const LocalBindingOptions& options, kj::AsyncIoContext& io) {
  if (geteuid() != 0)
    return Failure{std::string("no daemon answers, and only root may do it alone")};
  auto server = ForkServer::start();
  if (!server) return Failure{server.error()};
  auto lock = InstanceLock::open(options.stateDir);
  if (!lock) return Failure{because("--state-dir " + options.stateDir, lock.error().error)};
  InstanceLock node = kj::mv(lock).value();
  if (!node.tryTake()) {
    return Failure{"another privd has the node's lock (" + node.holder() +
                   "), but does not answer on --socket: wait for it to end, or give its socket"};
  }
  auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return Failure{because("--sysfs " + options.sysfs, sysfs.error().error)};
  auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{because("--dev " + options.dev, dev.error().error)};
  BindingOptions binding = options.binding;
  if (binding.hostMountinfo.empty()) binding.hostMountinfo = "/proc/self/mountinfo";
  if (binding.hostRoute.empty()) binding.hostRoute = "/proc/self/net/route";
  auto parts = openBindingParts(options.stateDir, binding);
  if (!parts) return Failure{parts.error()};
  auto allocations =
      AllocationRecords::open(recordDirectory(options.recordDir, options.stateDir), parts->bootId);
  if (!allocations) return Failure{"--record-dir " + allocations.error().str()};
  auto lease = PlugindLease::open(options.stateDir, 0);
  if (!lease) return Failure{because("--state-dir " + options.stateDir, lease.error().error)};
  return kj::Own<BindingService>(kj::heap<LocalBindingService>(
      LocalBindingService::Opened{kj::mv(node), kj::mv(sysfs).value(), kj::mv(dev).value(),
                                  kj::mv(parts).value(), kj::mv(allocations).value(),
                                  kj::mv(lease).value()},
      binding, kj::mv(server).value(), io));
}

}  // namespace vfiogate
