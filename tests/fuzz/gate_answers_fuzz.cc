// Whatever packets privd's gate sends plugind, with a file beside them or without: what is
// understood is written as it was, no more is read than the file has, and a refusal has words.
//
// The input: packets one after the other, each after its length in two bytes, the lower one first.
// The length's highest bit: the file comes with it.

#include "ipc/gate/packet_socket.h"
#include "plugind/privd/allocation_client.h"
#include "plugind/privd/exclusion_client.h"
#include "plugind/privd/gate_client.h"
#include "plugind/privd/gate_entry.h"
#include "plugind/privd/spec_client.h"
#include "plugind/privd/watched_files.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/packet_file.h"
#include "tests/support/hardware.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/silent_events.h"

#include <kj/async-io.h>
#include <kj/vector.h>

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>

namespace vfiogate {
namespace {

constexpr std::size_t kFileBytes = 64;

class Bounded final : public test::SilentEvents {
public:
  void configurationPosted(const std::string& text) override { require(text.size() <= kFileBytes); }
};

/// plugind's half of one session, in which all that can be asked of the gate is asked.
class Asker {
public:
  Asker(kj::AutoCloseFd channel, kj::AsyncIoContext& io)
      : channel_(kj::mv(channel), calls_,
                 LoopDeps{io.unixEventPort, *io.lowLevelProvider, io.provider->getTimer(),
                          std::make_shared<TaskQueue>(), random_}),
        entry_(channel_, calls_, lease_, io.provider->getTimer()),
        gate_(channel_, calls_),
        allocations_(channel_, io.provider->getTimer()),
        specs_(channel_, calls_),
        exclusions_(channel_, calls_),
        files_(events_),
        config_(gate_, events_, io.provider->getTimer()) {
    ask(entry_.run().ignoreResult());
    channel_.entered();
    askForSockets();
    askForSpecs();
    ask(allocations_.allocate(IommuGroupId(12), members_, "note").ignoreResult());
    ask(exclusions_.read().ignoreResult());
    ask(watchFiles());
  }
  ~Asker() { calls_.end(); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

private:
  void askForSockets() {
    askFor(gate_.dialKubelet());
    askFor(gate_.listenFor(*ResourceName::parse("vfiogate.dev/gpu")));
    askFor(gate_.listenForDra(test::kDraDriver, DraSocket::kRegistration));
    askFor(gate_.checkpoint());
    askFor(gate_.configuration());
  }
  void askForSpecs() {
    const StaticSpec gpus{
        .resource = "vfiogate.dev/gpu", .wholeGroups = false, .devices = members_};
    ask(specs_.declareSpecs({gpus}, hardware_).ignoreResult());
    askFor(specs_.writeClaimSpec(test::claimSpec({"0000:01:00.0"}), hardware_));
    askFor(specs_.unlinkClaimSpec(test::kClaimUid));
    askFor(specs_.claimSpecTexts());
  }
  kj::Promise<void> watchFiles() {
    return channel_.nextFiles().then([this](const gate::WatchedFiles& files) {
      files_.seen(files);
      config_.seen(files.configuration);
      return watchFiles();
    });
  }

  template <typename Answer>
  void askFor(kj::Promise<Answer> answer) {
    ask(answer.then([](const Answer& told) {
      if (!told) return require(!told.error().why.empty());
      if constexpr (requires { told->text; }) require(told->text.size() <= kFileBytes);
    }));
  }
  /// It may break off with the session; what the standard library throws is a finding.
  void ask(kj::Promise<void> asked) {
    asked_.add(asked.eagerlyEvaluate(
        [](kj::Exception&& failure) { require(!failure.getDescription().startsWith("std::")); }));
  }

  static Snapshot oneDevice() {
    test::Hardware hardware;
    hardware.add("0000:01:00.0", 12);
    return hardware.snapshot();
  }

  const std::vector<UnitId> members_{test::at("0000:01:00.0")};
  const Snapshot hardware_ = oneDevice();
  std::mt19937 random_{1};
  Bounded events_;
  SessionCalls calls_;
  NodeLease lease_;
  ChannelToGate channel_;
  GateEntry entry_;
  GateClient gate_;
  AllocationClient allocations_;
  SpecClient specs_;
  ExclusionClient exclusions_;
  FilesObserver files_;
  ConfigWatch config_;
  kj::Vector<kj::Promise<void>> asked_;  // last: they use all of the above
};

kj::AutoCloseFd newFile() {
  kj::AutoCloseFd file(memfd_create("posted", MFD_CLOEXEC));
  require(ftruncate(file, kFileBytes) == 0);
  return file;
}

/// Takes what is asked, as the gate does before it answers.
void hear(int gate) {
  while (true) {
    auto received = receivePacket(gate, gate::kLargestRequest);
    if (!received) return;
    auto arrived = kj::mv(received).value();
    if (arrived == nullptr) return;
    KJ_IF_MAYBE (one, arrived) require(gate::decodeRequest(one->bytes).has_value());
  }
}

void answerAll(std::string_view input, kj::AsyncIoContext& io) {
  auto pair = packetPair().value();
  Asker asker(kj::mv(pair.theirs), io);
  while (input.size() >= 2) {
    const InputPacket next = takePacket(input);
    const std::string& packet = next.bytes;
    if (const auto said = gate::decodeFromGate(packet)) require(encode(*said) == packet);
    io.waitScope.poll();
    hear(pair.ours);
    const kj::AutoCloseFd file = newFile();
    const int beside = next.marked ? file.get() : -1;
    if (packet.empty() || sendPacket(pair.ours, packet, beside) != PacketSent::kSent) return;
    io.waitScope.poll();
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  vfiogate::answerAll(vfiogate::textOf(data, size), io);
  return 0;
}
