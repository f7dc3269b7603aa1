// Whatever bytes a peer with every right sends privd's own servers: they outlive it, and what it
// had written is specs under names that privd minted, which read as specs.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/socket/unix_socket.h"
#include "plugind/dra/claims/claim_record.h"
#include "privd/cdi/cdi_spec.h"
#include "privd/rpc/connection.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/fake_sysfs.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/raw_peer.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

class NoBindingService final : public BindingService {
public:
  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer) override {
    require(!order.addresses.empty());
    return ChangeReport{.outcome = ChangeOutcome::kRefused, .error = "not here"};
  }
  Result<Done, std::string> exclude(const Bdf&, const std::string& reason,
                                    const AuditPeer&) override {
    require(!reason.empty() && reason.size() <= 200);
    return Failure{reason};
  }
  Result<Done, std::string> release(const Bdf&, const AuditPeer&) override { return Done{}; }
  Result<Done, std::string> forget(const Bdf&, const AuditPeer&) override { return Done{}; }
  std::vector<Exclusion> exclusions() override { return {}; }
  std::vector<DeviceIdentity> declared() override { return {}; }
};

/// One for all inputs: what a peer leaves behind the next one meets.
class Served {
public:
  Served() {
    for (const char* made : {"device-plugins", "cdi", "metadata"})
      fs::create_directory(dir_ / made);
    tree_.add({.address = "0000:01:00.0"});
    tree_.add({.address = "0000:02:00.0", .group = 8});
    source_.emplace(io_.provider->getTimer(), 1, 60 * kj::SECONDS, scanDeps(sysfs_, dev_), counts_);
  }

  void takeFrom(kj::ArrayPtr<const kj::byte> bytes) {
    auto [ours, theirs] = connect();
    RawPeer peer(kj::mv(theirs));
    auto channel = sendOpening(ours);
    auto stream = io_.lowLevelProvider->wrapSocketFd(kj::mv(ours), kStreamFlags);
    Node node = makeNode();
    Connection connection(node, kAll, kj::mv(channel).value(), kj::mv(stream), {"root", 0, 4711});
    auto ended = connection.ended().eagerlyEvaluate(nullptr);
    peer.sendBytes(bytes);
    io_.waitScope.poll();
    peer.drain();
    io_.waitScope.poll();
  }

  void checkFiles() const {
    for (const auto& entry : fs::directory_iterator(dir_ / "cdi")) {
      const std::string name = entry.path().filename();
      require(isClaimFileName(name) || isSpecFileName(name));
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (isClaimFileName(name)) require(readClaimSpec(text).has_value());
    }
  }

private:
  static constexpr Rights kAll{.watch = true, .kubelet = true, .cdi = true, .operate = true};

  /// privd's end and the peer's.
  static std::pair<kj::AutoCloseFd, kj::AutoCloseFd> connect() {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    return {kj::AutoCloseFd(pair[0]), kj::AutoCloseFd(pair[1])};
  }

  static kj::Vector<kj::String> prefixes() {
    kj::Vector<kj::String> result;
    result.add(kj::str("vfiogate.dev/"));
    return result;
  }

  Node makeNode() {
    return Node{KJ_ASSERT_NONNULL(source_),
                counts_,
                sysfs_,
                dev_,
                gate_,
                allocations_,
                lease_,
                config_,
                cdi_,
                nullptr,
                io_.provider->getTimer(),
                service_,
                claims_};
  }

  TempDir dir_{"/dev/shm"};
  FakeSysfs tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  KubeletGate gate_{io_.unixEventPort, io_.provider->getTimer(), dir_.path().c_str(), prefixes(),
                    test::kDraDriver.c_str()};
  DiscoveryCounts counts_;
  kj::Maybe<SnapshotSource> source_;
  AllocationRecords allocations_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  PlugindLease lease_ = PlugindLease::open(dir_.path(), 40).value();
  PlugindConfig config_{io_.unixEventPort, io_.provider->getTimer(),
                        kj::str(dir_.path().c_str(), "/plugind.yaml")};
  CdiStore cdi_{dir_ / "cdi", gate_, dev_};
  ClaimStore claims_{dir_ / "cdi", dir_ / "metadata", gate_, dev_};
  NoBindingService service_;
};

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static vfiogate::Served served;
  served.takeFrom(kj::arrayPtr(data, size));
  served.checkFiles();
  return 0;
}
