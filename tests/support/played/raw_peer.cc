#include "tests/support/played/raw_peer.h"

#include "ipc/schema/helper.capnp.h"

#include <capnp/serialize.h>
#include <kj/array.h>
#include <kj/exception.h>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <thread>

namespace vfiogate {
namespace {

using capnp::rpc::Call;
using capnp::rpc::Message;

// Ordinals in helper.capnp.
constexpr std::uint16_t kEnter = 0;
constexpr std::uint16_t kWatch = 0;
constexpr std::uint16_t kDiscovery = 1;
constexpr std::uint16_t kReread = 0;

// Exports get the lowest free number: after handshake and session comes the group of the update.
constexpr std::uint32_t kControlExport = 2;

/// Addresses the session in the answer to callEnter().
void targetSession(Call::Builder call) {
  auto answer = call.initTarget().initPromisedAnswer();
  answer.setQuestionId(RawPeer::kSession);
  auto path = answer.initTransform(2);
  path[0].setGetPointerField(0);
  path[1].setGetPointerField(0);
}

}  // namespace

void RawPeer::enter() {
  bootstrap(kHandshake);
  callEnter(kSession);
  callWatch(kWatching, 0);
}

void RawPeer::bootstrap(std::uint32_t question) {
  send([=](Message::Builder message) { message.initBootstrap().setQuestionId(question); });
}

void RawPeer::call(std::uint32_t question, kj::FunctionParam<void(Call)> fill) {
  send([&](Message::Builder message) {
    auto call = message.initCall();
    call.setQuestionId(question);
    fill(call);
  });
}

void RawPeer::callEnter(std::uint32_t question) {
  call(question, [](Call call) {
    call.initTarget().initPromisedAnswer().setQuestionId(kHandshake);
    call.setInterfaceId(capnp::typeId<schema::Handshake>());
    call.setMethodId(kEnter);
    auto params = call.initParams().getContent().initAs<schema::Handshake::EnterParams>();
    params.setProtocol(schema::PROTOCOL);
  });
}

void RawPeer::callWatch(std::uint32_t question, std::uint32_t observer) {
  call(question, [=](Call call) {
    targetSession(call);
    call.setInterfaceId(capnp::typeId<schema::Session>());
    call.setMethodId(kWatch);
    auto payload = call.initParams();
    capnp::BuilderCapabilityTable table;
    auto params = table.imbue(payload.getContent().initAs<schema::Session::WatchParams>());
    // Any object will do: it becomes entry 0 of the table, and the message says what that is.
    params.setObserver(schema::Observer::Client(KJ_EXCEPTION(UNIMPLEMENTED, "stand-in")));
    payload.initCapTable(1)[0].setSenderHosted(observer);
  });
}

void RawPeer::callReread(std::uint32_t question) {
  callRereadOn(question, kControlExport);
}

void RawPeer::callRereadOn(std::uint32_t question, std::uint32_t object) {
  call(question, [=](Call call) {
    call.initTarget().setImportedCap(object);
    call.setInterfaceId(capnp::typeId<schema::GroupControl>());
    call.setMethodId(kReread);
    call.initParams().getContent().initAs<schema::GroupControl::RereadParams>();
  });
}

void RawPeer::callDiscovery(std::uint32_t question) {
  call(question, [](Call call) {
    targetSession(call);
    call.setInterfaceId(capnp::typeId<schema::Session>());
    call.setMethodId(kDiscovery);
    call.initParams().getContent().initAs<schema::Session::DiscoveryParams>();
  });
}

void RawPeer::finish(std::uint32_t question, bool releaseResults) {
  send([=](Message::Builder message) {
    auto finish = message.initFinish();
    finish.setQuestionId(question);
    finish.setReleaseResultCaps(releaseResults);
  });
}

void RawPeer::send(kj::FunctionParam<void(Message::Builder)> fill) {
  capnp::MallocMessageBuilder message;
  fill(message.initRoot<Message>());
  sendBytes(capnp::messageToFlatArray(message).asBytes());
}

void RawPeer::sendBytes(kj::ArrayPtr<const kj::byte> bytes) {
  if (refused_) return;
  iovec part = {const_cast<kj::byte*>(bytes.begin()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const auto end = std::chrono::steady_clock::now() + patience_;
  ssize_t sent = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EAGAIN && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sent = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // Half a message would only spoil what comes after it.
  refused_ = sent != static_cast<ssize_t>(bytes.size());
}

std::size_t RawPeer::drain() {
  std::array<kj::byte, 65'536> rest = {};
  std::size_t total = 0;
  while (true) {
    iovec part = {rest.data(), rest.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT);
    if (got <= 0) return total;
    total += static_cast<std::size_t>(got);
  }
}

}  // namespace vfiogate
