// Whatever packets privd's binder sends plugind, with a file beside them or without: what is
// understood is written as it was, never more than eight requests are made or two of a kind for one
// group, and the channel's end has words and ends what was asked.
//
// The input: packets one after the other, each after its length in two bytes, the lower one first.
// The length's highest bit: a file comes with it.

#include "ipc/gate/packet_socket.h"
#include "plugind/privd/binding_view.h"
#include "plugind/privd/link/binder_channel.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/packet_file.h"
#include "tests/support/hardware.h"

#include <kj/async-io.h>
#include <kj/vector.h>

#include <sys/mman.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <variant>

namespace vfiogate {
namespace {

constexpr std::uint8_t kGroups = 10;

std::vector<Bdf> membersOf(std::uint8_t group) {
  return {*Bdf::make(0, group, 0, 0)};
}

Snapshot hardware() {
  Snapshot snapshot;
  for (std::uint8_t group = 1; group <= kGroups; ++group) {
    const IommuGroupId id(group);
    snapshot.groups.emplace(id, IommuGroup{.id = id, .members = membersOf(group)});
  }
  return snapshot;
}

/// plugind's half, which asks for a change of each group, and then for another.
class Asker {
public:
  Asker(kj::AutoCloseFd channel, kj::AsyncIoContext& io)
      : channel_(
            kj::mv(channel), [this](binder::Changed changed) { return take(std::move(changed)); },
            LoopDeps{io.unixEventPort, *io.lowLevelProvider, io.provider->getTimer(),
                     std::make_shared<TaskQueue>(), random_}),
        over_(channel_.run()
                  .then([](const std::string& why) { require(!why.empty()); })
                  .eagerlyEvaluate(nullptr)) {
    for (std::uint8_t group = 1; group <= kGroups; ++group) {
      ask(DriverChange::kBind, group);
      ask(DriverChange::kGiveBack, group);
      probe(group);
      serialOf(group);
    }
  }

private:
  bool take(binder::Changed changed) {
    const auto taken = bindings_.take(std::move(changed));
    bindings_.complete(hardware_);
    return taken != BindingView::Taken::kTooMuch;
  }

  void ask(DriverChange change, std::uint8_t group) {
    asked_.add(channel_.ask(change, membersOf(group))
                   .ignoreResult()
                   .eagerlyEvaluate([](kj::Exception&& /*over*/) {}));
  }

  void probe(std::uint8_t group) {
    asked_.add(channel_.probe(IommuGroupId(group))
                   .ignoreResult()
                   .eagerlyEvaluate([](kj::Exception&& /*over*/) {}));
  }

  void serialOf(std::uint8_t group) {
    asked_.add(channel_.serialOf(membersOf(group).front())
                   .ignoreResult()
                   .eagerlyEvaluate([](kj::Exception&& /*over*/) {}));
  }

  std::mt19937 random_{1};
  Snapshot hardware_ = hardware();
  BindingView bindings_;
  ChannelToBinder channel_;
  kj::Vector<kj::Promise<void>> asked_;
  kj::Promise<void> over_;  // last: it uses all of the above
};

/// Takes what is asked, as the binder does, and has it kept to the rules.
class Hearer {
public:
  void hear(int binder) {
    while (true) {
      auto received = receivePacket(binder, binder::kLargestRequest);
      if (!received) return;
      auto arrived = kj::mv(received).value();
      if (arrived == nullptr) return;
      KJ_IF_MAYBE (one, arrived) {
        const auto request = binder::decodeRequest(one->bytes);
        require(request.has_value());
        if (const auto* bind = std::get_if<binder::Bind>(&*request)) begin(*bind);
        if (const auto* back = std::get_if<binder::GiveBack>(&*request)) begin(*back);
        if (const auto* probe = std::get_if<binder::Probe>(&*request)) begin(*probe);
        if (const auto* serial = std::get_if<binder::ReadSerial>(&*request)) begin(*serial);
      }
    }
  }
  void answer(std::uint32_t number) { running_.erase(number); }

private:
  /// What one request at a time is about.
  using About = std::variant<std::vector<Bdf>, IommuGroupId, Bdf>;

  template <typename Change>
  void begin(const Change& change) {
    begin(change.number, change.members);
  }
  void begin(const binder::ReadSerial& serial) { begin(serial.number, serial.device); }
  void begin(const binder::Probe& probe) { begin(probe.number, probe.group); }
  void begin(std::uint32_t number, const About& about) {
    for (const auto& [other, theirs] : running_) require(theirs != about);
    require(running_.emplace(number, about).second);
    require(running_.size() <= binder::kMostInFlight);
  }

  std::map<std::uint32_t, About> running_;
};

void tellAll(std::string_view input, kj::AsyncIoContext& io) {
  auto pair = packetPair().value();
  Asker asker(kj::mv(pair.theirs), io);
  Hearer hearer;
  while (input.size() >= 2) {
    const InputPacket packet = takePacket(input);
    io.waitScope.poll();
    hearer.hear(pair.ours);
    if (const auto said = binder::decodeFromBinder(packet.bytes)) {
      require(encode(*said) == packet.bytes);
      if (const auto* answer = std::get_if<binder::Answer>(&*said)) hearer.answer(answer->number);
      if (const auto* probed = std::get_if<binder::Probed>(&*said)) hearer.answer(probed->number);
      if (const auto* told = std::get_if<binder::SerialTold>(&*said)) hearer.answer(told->number);
    }
    const kj::AutoCloseFd file(memfd_create("beside", MFD_CLOEXEC));
    const int beside = packet.marked ? file.get() : -1;
    if (packet.bytes.empty()) return;
    if (sendPacket(pair.ours, packet.bytes, beside) != PacketSent::kSent) return;
    io.waitScope.poll();
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  vfiogate::tellAll(vfiogate::textOf(data, size), io);
  return 0;
}
