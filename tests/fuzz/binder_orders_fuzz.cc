// Whatever packets a plugind with the right to bind sends privd's binder, with a file beside them
// or without: what is understood is written as it was, only whole groups are bound that are on
// record, each once at a time and eight at most, and what comes back is understood.
//
// The input: packets one after the other, each after its length in two bytes, the lower one first.
// The length's highest bit: a file comes with it.

#include "ipc/gate/packet_socket.h"
#include "privd/binder/binder_channel.h"
#include "privd/state/allocation_records.h"
#include "sim/base/temp_dir.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/packet_file.h"
#include "tests/support/fake_sysfs.h"

#include <kj/async-io.h>

#include <sys/mman.h>

#include <set>
#include <string>
#include <vector>

namespace vfiogate {
namespace {

using Members = std::vector<Bdf>;

const Members kOnRecord{*Bdf::parse("0000:01:00.0"), *Bdf::parse("0000:01:00.1")};
const Members kFree{*Bdf::parse("0000:02:00.0")};

/// Ends a change when the next input comes.
class Changes final : public AllocationBinder {
public:
  kj::Promise<AllocationAnswer> bind(const Members& members) override {
    require(members == kOnRecord);
    return begin(members);
  }
  kj::Promise<AllocationAnswer> giveBack(const Members& members) override {
    require(members == kOnRecord || members == kFree);
    return begin(members);
  }
  void endAll() {
    for (auto& [members, ended] : running_) ended->fulfill(AllocationAnswer{});
    running_.clear();
  }

private:
  kj::Promise<AllocationAnswer> begin(const Members& members) {
    for (const auto& [others, ended] : running_) require(others != members);
    auto pair = kj::newPromiseAndFulfiller<AllocationAnswer>();
    running_.emplace_back(members, kj::mv(pair.fulfiller));
    return kj::mv(pair.promise);
  }
  std::vector<std::pair<Members, kj::Own<kj::PromiseFulfiller<AllocationAnswer>>>> running_;
};

/// One for all inputs.
class Served {
public:
  explicit Served(kj::AsyncIoContext& io) : io_(io) {
    require(records_.allocate({kOnRecord.begin(), kOnRecord.end()}, "resource=vfiogate.dev/gpu",
                              records_.newSession()));
  }

  void takeFrom(std::string_view input) {
    PacketPair pair = packetPair().value();
    Changes changes;
    {
      BinderChannel channel({io_.unixEventPort, io_.provider->getTimer(), sysfs_, dev_,
                             allocations_, view_, &changes, &probes_, nullptr},
                            kj::mv(pair.ours));
      auto over = channel.ended().eagerlyEvaluate(nullptr);
      while (input.size() >= 2 && exchange(pair.theirs, takePacket(input), changes)) {
      }
    }
    changes.endAll();
    io_.waitScope.poll();
  }

private:
  bool exchange(int plugind, const InputPacket& packet, Changes& changes) {
    const auto request = binder::decodeRequest(packet.bytes);
    if (request) require(encode(*request) == packet.bytes);
    if (packet.bytes.empty()) return false;
    const kj::AutoCloseFd file(memfd_create("beside", MFD_CLOEXEC));
    const int beside = packet.marked ? file.get() : -1;
    if (sendPacket(plugind, packet.bytes, beside) != PacketSent::kSent) return false;
    io_.waitScope.poll();
    if (request && std::holds_alternative<binder::Seen>(*request)) changes.endAll();
    io_.waitScope.poll();
    return takeAnswers(plugind);
  }

  /// False: the binder hung up.
  static bool takeAnswers(int plugind) {
    while (true) {
      auto received = receivePacket(plugind, binder::kLargestMessage);
      if (!received) return false;
      auto arrived = kj::mv(received).value();
      if (arrived == nullptr) return true;
      KJ_IF_MAYBE (one, arrived) require(binder::decodeFromBinder(one->bytes).has_value());
    }
  }

  struct Hardware : FakeSysfs {
    Hardware() {
      add({.address = "0000:01:00.0"});
      add({.address = "0000:01:00.1"});
      add({.address = "0000:02:00.0", .group = 8});
    }
  };

  kj::AsyncIoContext& io_;
  TempDir dir_;
  Hardware tree_;
  SysfsRoot sysfs_ = SysfsRoot::open(tree_.sysfs()).value();
  DevRoot dev_ = DevRoot::open(tree_.dev()).value();
  AllocationRecords records_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  AllocationFiles allocations_ = AllocationFiles::open(dir_ / "devices", "this-boot").value();
  HostView view_{
      {sysfs_, dev_, io_.provider->getTimer(), 3600 * kj::SECONDS,
       [](const Snapshot&, const IommuGroup&) { return GroupBinding{.bindable = true}; }}};
  GroupProbes probes_{dev_, io_.provider->getTimer()};
};

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  static vfiogate::Served served(io);
  served.takeFrom(vfiogate::textOf(data, size));
  return 0;
}
