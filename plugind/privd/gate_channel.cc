#include "plugind/privd/gate_channel.h"

#include "ipc/gate/packet_socket.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

/// privd writes some kilobytes to a disk that may be slow; a descriptor may take it 2 s.
constexpr auto kPatience = 10 * kj::SECONDS;

}  // namespace

ChannelToGate::ChannelToGate(kj::AutoCloseFd socket, SessionCalls& calls, const LoopDeps& loop)
    : socket_(kj::mv(socket)),
      calls_(calls),
      timer_(loop.timer),
      readable_(loop.port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      receiving_(kj::evalLater([this]() {
                   return receiveForever();
                 }).eagerlyEvaluate([this](kj::Exception&& failure) {
        hangUp(failure.getDescription().cStr());
      })) {}

kj::Promise<GateReply> ChannelToGate::ask(const gate::Request& request) {
  if (!entered_) return notInYet();
  auto answered = turns_.ask(request);
  send();
  return calls_.keep(kj::mv(answered));
}

kj::Promise<GateReply> ChannelToGate::enter(const gate::Enter& request) {
  auto answered = turns_.ask(request);
  send();
  return calls_.keep(kj::mv(answered));
}

kj::Promise<gate::WatchedFiles> ChannelToGate::nextFiles() {
  auto pair = kj::newPromiseAndFulfiller<gate::WatchedFiles>();
  wanted_ = kj::mv(pair.fulfiller);
  tellFiles();
  return calls_.keep(kj::mv(pair.promise));
}

kj::Promise<void> ChannelToGate::receiveForever() {
  receive();
  if (over_) return kj::NEVER_DONE;
  return readable_.whenBecomesReadable().then([this]() { return receiveForever(); });
}

void ChannelToGate::receive() {
  while (!over_) {
    auto received = receivePacket(socket_, gate::kLargestAnswer);
    if (!received) {
      return hangUp(received.error() == kPeerLeft ? "privd-gate left"
                                                  : "its gate: " + received.error());
    }
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      const auto told = turns_.take(packet->bytes, kj::mv(packet->fd));
      if (!told) return hangUp("its gate sent " + told.error());
      if (*told && files_) return hangUp("its gate told of files before the last were seen");
      if (*told) files_ = (*told)->files;
      if (!turns_.awaits()) patience_ = nullptr;
      tellFiles();
      send();
    } else {
      return;
    }
  }
}

void ChannelToGate::send() {
  if (over_) return;
  const auto packet = turns_.next();
  if (!packet) return;
  if (sendPacket(socket_, *packet) != PacketSent::kSent) {
    return hangUp("its gate does not take what it is asked");
  }
  patience_ = waitedInVain(timer_, kPatience)
                  .then([this]() { hangUp("its gate does not answer"); })
                  .eagerlyEvaluate(nullptr);
}

void ChannelToGate::tellFiles() {
  if (!files_ || over_) return;
  KJ_IF_MAYBE (wanted, wanted_) {
    if (sendPacket(socket_, gate::encode(gate::Request(gate::Seen{}))) != PacketSent::kSent) {
      return hangUp("its gate does not take what it is told");
    }
    auto taking = kj::mv(*wanted);
    wanted_ = nullptr;
    taking->fulfill(*std::exchange(files_, std::nullopt));
  }
}

void ChannelToGate::hangUp(const std::string& why) {
  over_ = true;
  turns_.end(KJ_EXCEPTION(DISCONNECTED, "privd is away"));
  calls_.hangUp(why);
}

}  // namespace vfiogate
