// What honest peers do, the slow and the quick and the clumsy, passes the meter.

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "tests/support/played/raw_peer.h"
#include "tests/unit/ipc/metered.h"

#include <gtest/gtest.h>

#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

#include <sys/socket.h>

namespace vfiogate {
namespace {

using capnp::rpc::Message;

constexpr std::uint32_t kFree = RawPeer::kFirstFree;

TEST_F(Metered, LetsAPeerLeaveInTheMiddleOfAMessage) {
  {
    RawPeer peer(server_.connect(Metering::kOn));
    const std::uint32_t half[] = {0, 100, 7, 7};
    peer.sendBytes(kj::arrayPtr(half, 4).asBytes());
    settle();
  }
  settle();
  EXPECT_EQ(server_.offence(), std::nullopt);
  EXPECT_EQ(server_.ended(), 1);
}

TEST_F(Metered, LetsAPeerHaveAsManyQuestionsAsTheLimitSays) {
  RawPeer peer(server_.connect(Metering::kOn));
  peer.enter();
  for (std::uint32_t q = kFree; q < kMaxOpenQuestions; ++q) peer.callDiscovery(q);
  settle();
  EXPECT_EQ(server_.offence(), std::nullopt);
  EXPECT_EQ(server_.ended(), 0);
}

TEST_F(Metered, ForgetsAQuestionThatIsAnsweredAndFinished) {
  RawPeer peer(server_.connect(Metering::kOn));
  peer.enter();
  for (int round = 0; round < 100; ++round) {
    peer.callReread(kFree);
    peer.finish(kFree, true);
    settle();
    peer.drain();
    settle();
  }
  EXPECT_EQ(server_.offence(), std::nullopt);
  EXPECT_EQ(server_.ended(), 0);
}

TEST_F(Metered, OutlivesParametersNestedDeep) {
  RawPeer peer(server_.connect(Metering::kOn));
  peer.enter();
  peer.send([](Message::Builder message) {
    auto call = message.initCall();
    call.setQuestionId(kFree);
    call.initTarget().setImportedCap(0);
    auto inner = call.initParams().getContent().initAs<Message>();
    for (int depth = 0; depth < 2000; ++depth) inner = inner.initUnimplemented();
  });
  settle();
  EXPECT_EQ(server_.offence(), std::nullopt);
}

/// Writes at once, but says so only when told to: the time between a write and our hearing of it.
class LateNews final : public kj::AsyncIoStream {
public:
  explicit LateNews(kj::Own<kj::AsyncIoStream> inner) : inner_(kj::mv(inner)) {}

  kj::Promise<void> write(const void* buffer, std::size_t size) override {
    return late(inner_->write(buffer, size));
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return late(inner_->write(pieces));
  }
  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t min, std::size_t max) override {
    return inner_->tryRead(buffer, min, max);
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_->whenWriteDisconnected(); }
  void shutdownWrite() override { inner_->shutdownWrite(); }

private:
  kj::Promise<void> late(kj::Promise<void> written) {
    return written.then([]() { return kj::Promise<void>(kj::NEVER_DONE); });
  }

  kj::Own<kj::AsyncIoStream> inner_;
};

TEST_F(Metered, LetsAQuickPeerReuseANumberBeforeWeHearThatItHasTheAnswer) {
  int pair[2];
  KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
  RawPeer peer{kj::AutoCloseFd(pair[1])};
  server_.serve(kj::heap<LateNews>(io_.lowLevelProvider->wrapSocketFd(kj::AutoCloseFd(pair[0]))),
                Metering::kOn);
  peer.bootstrap(kFree);
  settle();
  ASSERT_GT(peer.drain(), 0U) << "the answer has not come";
  peer.finish(kFree, true);
  peer.bootstrap(kFree);
  settle();
  EXPECT_EQ(server_.offence(), std::nullopt);
  EXPECT_EQ(server_.ended(), 0);
}

/// plugind's side of the connection, as Cap'n Proto's own client speaks it.
class HonestClient {
public:
  HonestClient(kj::AsyncIoContext& io, kj::AutoCloseFd fd)
      : waitScope_(io.waitScope),
        stream_(io.lowLevelProvider->wrapSocketFd(kj::mv(fd))),
        network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromPrivd),
        rpc_(capnp::makeRpcClient(network_)) {}

  schema::Session::Client enter() {
    capnp::MallocMessageBuilder vat;
    auto id = vat.initRoot<capnp::rpc::twoparty::VatId>();
    id.setSide(capnp::rpc::twoparty::Side::SERVER);
    auto request = rpc_.bootstrap(id).castAs<schema::Handshake>().enterRequest();
    request.setProtocol(schema::PROTOCOL);
    return request.send().wait(waitScope_).getAnswer().getSession();
  }

private:
  kj::WaitScope& waitScope_;
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

class Watcher final : public schema::Observer::Server {
public:
  explicit Watcher(GroupControlClients& controls) : controls_(controls) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    auto decoded = decode(context.getParams().getUpdate());
    KJ_ASSERT(decoded.has_value(), decoded.error().what.c_str());
    controls_ = std::move(decoded).value().controls;
    return kj::READY_NOW;
  }

private:
  GroupControlClients& controls_;
};

TEST_F(Metered, LetsTheWholeConversationOfPlugindPass) {
  HonestClient client(io_, server_.connect(Metering::kOn));
  auto session = client.enter();
  GroupControlClients controls;
  for (int round = 0; round < 40; ++round) {
    auto watch = session.watchRequest();
    watch.setObserver(kj::heap<Watcher>(controls));
    auto watching = watch.send().wait(io_.waitScope).getSubscription();
    settle();
    ASSERT_EQ(controls.size(), 1U);
    for (auto& [id, control] : controls) {
      EXPECT_TRUE(control.rereadRequest().send().wait(io_.waitScope).getAnswer().isSeen());
    }
  }
  {
    auto asked = session.discoveryRequest().send();  // and given up, unanswered
  }
  ASSERT_EQ(controls.size(), 1U);
  auto& control = controls.begin()->second;
  EXPECT_TRUE(control.rereadRequest().send().wait(io_.waitScope).getAnswer().isSeen());
  EXPECT_EQ(server_.offence(), std::nullopt);
  EXPECT_EQ(server_.ended(), 0);
}

TEST_F(Metered, CountsAnAnswerThatAClientKeeps) {
  HonestClient client(io_, server_.connect(Metering::kOn));
  auto session = client.enter();
  kj::Vector<capnp::Response<schema::Session::WatchResults>> kept;
  GroupControlClients controls;
  auto ask = [&]() {
    auto request = session.watchRequest();
    request.setObserver(kj::heap<Watcher>(controls));
    kept.add(request.send().wait(io_.waitScope));
  };
  for (std::size_t i = 0; i < kMaxOpenQuestions; ++i) ask();
  settle();
  ASSERT_EQ(server_.offence(), std::nullopt);
  EXPECT_ANY_THROW(ask());
  EXPECT_EQ(server_.offence(), Offence::kTooManyQuestions);
}

}  // namespace
}  // namespace vfiogate
