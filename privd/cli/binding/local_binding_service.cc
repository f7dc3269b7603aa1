#include "privd/cli/binding/local_binding_service.h"

#include "privd/audit/audit_log.h"
#include "privd/base/log_line.h"
#include "privd/bind/binding.h"
#include "privd/cli/binding/holders.h"
#include "privd/gate/plugind_lease.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

namespace vfiogate {
namespace {

/// A directory that ends with the command.
class ScratchDirectory {
public:
  static Result<kj::Own<ScratchDirectory>, std::string> make() {
    std::string path = std::filesystem::temp_directory_path() / "privd-dry-run-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return Failure{path + ": " + strerror(errno)};
    return kj::heap<ScratchDirectory>(std::move(path));
  }
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  ~ScratchDirectory() {
    std::error_code gone;
    std::filesystem::remove_all(path_, gone);
  }
  KJ_DISALLOW_COPY(ScratchDirectory);

  /// Whoever is not root can open neither the node's state nor its log.
  LocalBindingOptions placesOf(LocalBindingOptions options) const {
    options.stateDir = path_ + "/state";
    options.recordDir = path_ + "/devices";
    options.binding.auditLog = path_ + "/audit.jsonl";
    return options;
  }

private:
  std::string path_;
};

/// All that the daemon has open of what binding needs, for the time of one command.
class LocalBindingService final : public BindingService {
public:
  struct Opened {
    SysfsRoot sysfs;
    DevRoot dev;
    BindingDeps parts;
    AllocationFiles allocations;
    PlugindLease lease;
    kj::Maybe<kj::Own<ScratchDirectory>> scratch;
  };

  LocalBindingService(Opened opened, const BindingOptions& options, ForkServer server,
                      kj::AsyncIoContext& io)
      : opened_(kj::mv(opened)),
        binding_({opened_.sysfs, opened_.dev, opened_.allocations, opened_.lease, io.unixEventPort,
                  io.provider->getTimer(),
                  /*plugindUid=*/0, /*allocates=*/false},
                 kj::mv(opened_.parts), options, kj::mv(server)) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, ChangeBy by, AuditPeer who) override {
    return binding_.binder().change({kj::mv(order), by, kj::mv(who)});
  }

  Result<std::vector<DeviceIdentity>, std::string> declared() override {
    auto listed = binding_.state().declared();
    if (!listed) return Failure{listed.error().str()};
    return std::move(listed).value();
  }

private:
  Opened opened_;
  Binding binding_;
};

std::string because(const std::string& what, int error) {
  return what + ": " + strerror(error) + (error == EACCES ? ": are you root?" : "");
}

/// Where the host's sysfs is mounted below /host, as in the daemon's container, this process's own
/// tables are another namespace's: the host's are there as well, or the guards know nothing.
void findTables(const std::string& sysfs, BindingOptions& options) {
  const bool isHosts = !sysfs.starts_with("/host/");
  if (options.hostMountinfo.empty()) {
    options.hostMountinfo = isHosts ? "/proc/self/mountinfo" : "/host/proc/mountinfo";
  }
  if (options.hostRoute.empty()) {
    options.hostRoute = isHosts ? "/proc/self/net/route" : "/host/proc/route";
  }
}

}  // namespace

Result<kj::Own<BindingService>, std::string> makeLocalBindingService(
    const LocalBindingOptions& asked, kj::AsyncIoContext& io) {
  LocalBindingOptions options = asked;
  kj::Maybe<kj::Own<ScratchDirectory>> scratch;
  if (geteuid() != 0) {
    if (!options.dryRun) {
      return Failure{std::string("only root may do it: run it with sudo")};
    }
    auto made = ScratchDirectory::make();
    if (!made) return Failure{made.error()};
    options = (*made)->placesOf(kj::mv(options));
    scratch = kj::mv(made).value();
    std::cerr
        << "privd: not root: what is excluded, allocated or bound by privd is not known here, "
           "and as root it may be refused for that\n";
  }
  useLogForm(std::nullopt);
  auto server = ForkServer::start();
  if (!server) return Failure{server.error()};
  if (mkdir(options.stateDir.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failure{because("--state-dir " + options.stateDir, errno)};
  }
  auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return Failure{because("--sysfs " + options.sysfs, sysfs.error().error)};
  auto dev = DevRoot::open(options.dev);
  if (!dev) return Failure{because("--dev " + options.dev, dev.error().error)};
  BindingOptions binding = options.binding;
  findTables(options.sysfs, binding);
  auto parts = openBindingParts(options.stateDir, binding);
  if (!parts) return Failure{parts.error() + lockersText("/proc", binding.auditLog)};
  auto allocations =
      AllocationFiles::open(recordDirectory(options.recordDir, options.stateDir), parts->bootId);
  if (!allocations) return Failure{"--record-dir " + allocations.error().str()};
  auto lease = PlugindLease::open(options.stateDir, 0);
  if (!lease) return Failure{because("--state-dir " + options.stateDir, lease.error().error)};
  return kj::Own<BindingService>(kj::heap<LocalBindingService>(
      LocalBindingService::Opened{kj::mv(sysfs).value(), kj::mv(dev).value(), kj::mv(parts).value(),
                                  kj::mv(allocations).value(), kj::mv(lease).value(),
                                  kj::mv(scratch)},
      binding, kj::mv(server).value(), io));
}

}  // namespace vfiogate
