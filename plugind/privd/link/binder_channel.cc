#include "plugind/privd/link/binder_channel.h"

#include "ipc/gate/packet_socket.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kFull = "it does not take what it is asked";

}  // namespace

ChannelToBinder::ChannelToBinder(kj::AutoCloseFd socket, Take told, const LoopDeps& loop)
    : socket_(kj::mv(socket)),
      told_(kj::mv(told)),
      readable_(loop.port, socket_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ) {}

// Whoever waits for an answer is told that none comes.
ChannelToBinder::~ChannelToBinder() noexcept(false) {
  turns_.end(KJ_EXCEPTION(DISCONNECTED, "privd-binder is away"));
}

kj::Promise<std::string> ChannelToBinder::run() {
  return kj::evalLater([this]() { return receiveForever(); }).exclusiveJoin(kj::mv(over_.promise));
}

kj::Promise<std::string> ChannelToBinder::receiveForever() {
  std::string over = receive();
  if (!over.empty()) return over;
  return readable_.whenBecomesReadable().then([this]() { return receiveForever(); });
}

kj::Promise<binder::Answer> ChannelToBinder::ask(DriverChange change, std::vector<Bdf> members) {
  auto answered = turns_.ask(change, std::move(members));
  if (!send()) over_.fulfiller->fulfill(kFull);
  return answered;
}

kj::Promise<binder::Probed> ChannelToBinder::probe(IommuGroupId group) {
  auto probed = turns_.probe(group);
  if (!send()) over_.fulfiller->fulfill(kFull);
  return probed;
}

kj::Promise<binder::SerialTold> ChannelToBinder::serialOf(const Bdf& device) {
  auto told = turns_.serialOf(device);
  if (!send()) over_.fulfiller->fulfill(kFull);
  return told;
}

std::string ChannelToBinder::receive() {
  for (;;) {
    auto received = receivePacket(socket_, binder::kLargestMessage);
    if (!received) return received.error();
    auto arrived = kj::mv(received).value();
    KJ_IF_MAYBE (packet, arrived) {
      if (packet->fd != nullptr) return "it sent a descriptor";
      if (std::string why = take(packet->bytes); !why.empty()) return why;
    } else {
      return {};
    }
  }
}

std::string ChannelToBinder::take(const std::string& packet) {
  auto told = turns_.take(packet);
  if (!told) return "it sent " + told.error();
  if (!*told) return send() ? "" : kFull;
  if (!told_(*std::move(told).value())) return "it tells of more groups than there are";
  return sendPacket(socket_, encode(binder::Request(binder::Seen{}))) == PacketSent::kSent ? ""
                                                                                           : kFull;
}

bool ChannelToBinder::send() {
  while (const auto packet = turns_.next()) {
    if (sendPacket(socket_, *packet) != PacketSent::kSent) return false;
  }
  return true;
}

}  // namespace vfiogate
