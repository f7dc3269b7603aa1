#include "ipc/codec/metered_stream.h"

#include "ipc/codec/limits.h"
#include "tests/support/played/raw_peer.h"
#include "tests/support/seen/live_heap.h"
#include "tests/unit/ipc/metered.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace vfiogate {
namespace {

using capnp::rpc::Message;

constexpr std::uint32_t kFree = RawPeer::kFirstFree;

struct BadMessage {
  const char* name;
  std::function<void(RawPeer&)> send;
  Offence offence;
};

void PrintTo(const BadMessage& row, std::ostream* out) {
  *out << row.name;
}

class HangsUp : public Metered, public testing::WithParamInterface<BadMessage> {
protected:
  ~HangsUp() noexcept override = default;
};

TEST_P(HangsUp, NamingTheOffence) {
  RawPeer peer(server_.connect(Metering::kOn));
  peer.enter();
  settle();
  peer.drain();
  ASSERT_EQ(server_.ended(), 0) << "an honest beginning was hung up on";
  const std::size_t before = liveHeapBytes();
  GetParam().send(peer);
  settle();
  EXPECT_EQ(server_.offence(), GetParam().offence);
  EXPECT_EQ(server_.ended(), 1);
  EXPECT_LT(liveHeapBytes(), before) << "hanging up frees the connection";
}

using HangsUpOn = Metered;

BadMessage kind(const char* name, std::function<void(Message::Builder)> fill) {
  return {name,
          [fill](RawPeer& peer) { peer.send([&](Message::Builder message) { fill(message); }); },
          Offence::kUnusedMessage};
}

/// A call whose cap table `fill` makes.
BadMessage passing(const char* name, Offence offence,
                   std::function<void(capnp::rpc::Payload::Builder)> fill) {
  return {name,
          [fill](RawPeer& peer) {
            peer.send([&](Message::Builder message) {
              auto call = message.initCall();
              call.setQuestionId(kFree);
              call.initTarget().setImportedCap(0);
              fill(call.initParams());
            });
          },
          offence};
}

BadMessage returning(const char* name, Offence offence,
                     std::function<void(capnp::rpc::Return::Builder)> fill) {
  return {name,
          [fill](RawPeer& peer) {
            peer.send([&](Message::Builder message) { fill(message.initReturn()); });
          },
          offence};
}

BadMessage bytes(const char* name, std::initializer_list<std::uint32_t> words) {
  const std::vector<std::uint32_t> sent = words;
  return {
      name,
      [sent](RawPeer& peer) { peer.sendBytes(kj::arrayPtr(sent.data(), sent.size()).asBytes()); },
      Offence::kMalformed};
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, HangsUp,
    testing::Values(
        kind("Unimplemented", [](auto m) { m.initUnimplemented().initBootstrap(); }),
        kind("Resolve", [](auto m) { m.initResolve().initCap().setSenderHosted(1); }),
        kind("Disembargo", [](auto m) { m.initDisembargo().getContext().setSenderLoopback(1); }),
        kind("Provide", [](auto m) { m.initProvide(); }),
        kind("Accept", [](auto m) { m.initAccept(); }), kind("Join", [](auto m) { m.initJoin(); }),
        kind("ObsoleteSave", [](auto m) { m.initObsoleteSave(); }),
        kind("ObsoleteDelete", [](auto m) { m.initObsoleteDelete(); }),
        kind("Nothing", [](auto /*m*/) {}),
        kind("FromTheFuture",
             [](auto m) { capnp::AnyStruct::Builder(kj::mv(m)).getDataSection()[0] = 99; }),
        kind("NestedDeep",
             [](auto m) {
               for (int depth = 0; depth < 1000; ++depth) m = m.initUnimplemented();
             }),
        kind("AbortsWithAnExceptionOfNoKnownType",
             [](auto m) { m.initAbort().setType(capnp::rpc::Exception::Type{4}); }),
        kind("ReturnsAnExceptionOfNoKnownType",
             [](auto m) {
               m.initReturn().initException().setType(capnp::rpc::Exception::Type{0xffff});
             }),
        kind("ResultsToYourself", [](auto m) { m.initCall().getSendResultsTo().setYourself(); }),
        kind("ResultsToThirdParty",
             [](auto m) { m.initCall().getSendResultsTo().initThirdParty(); })),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Capabilities, HangsUp,
    testing::Values(passing("Many", Offence::kTooManyCapabilities,
                            [](auto p) {
                              for (auto cap : p.initCapTable(kMaxCapabilities + 1))
                                cap.setSenderHosted(1);
                            }),
                    passing("ManyOfNothing", Offence::kTooManyCapabilities,
                            [](auto p) { p.initCapTable(4000); }),
                    passing("Promise", Offence::kUnusedMessage,
                            [](auto p) { p.initCapTable(1)[0].setSenderPromise(1); }),
                    passing("OursBack", Offence::kUnusedMessage,
                            [](auto p) { p.initCapTable(1)[0].setReceiverHosted(0); }),
                    passing("AnAnswerOfOurs", Offence::kUnusedMessage,
                            [](auto p) { p.initCapTable(1)[0].initReceiverAnswer(); }),
                    passing("ThirdParty", Offence::kUnusedMessage,
                            [](auto p) { p.initCapTable(1)[0].initThirdPartyHosted(); }),
                    returning("ManyReturned", Offence::kTooManyCapabilities,
                              [](auto r) { r.initResults().initCapTable(kMaxCapabilities + 1); }),
                    returning("PromiseReturned", Offence::kUnusedMessage,
                              [](auto r) {
                                r.initResults().initCapTable(1)[0].setSenderPromise(3);
                              }),
                    returning("SentElsewhere", Offence::kUnusedMessage,
                              [](auto r) { r.setResultsSentElsewhere(); }),
                    returning("FromOtherQuestion", Offence::kUnusedMessage,
                              [](auto r) { r.setTakeFromOtherQuestion(0); }),
                    returning("FromThirdParty", Offence::kUnusedMessage,
                              [](auto r) { r.initAcceptFromThirdParty(); })),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Questions, HangsUp,
    testing::Values(BadMessage{"FinishesWhatItNeverAsked",
                               [](RawPeer& p) { p.finish(kFree, true); },
                               Offence::kUnknownQuestion},
                    BadMessage{"FinishesTwice",
                               [](RawPeer& p) {
                                 p.callDiscovery(kFree);
                                 p.finish(kFree, true);
                                 p.finish(kFree, true);
                               },
                               Offence::kUnknownQuestion},
                    BadMessage{"AsksUnderAnOpenNumber",
                               [](RawPeer& p) { p.callDiscovery(RawPeer::kWatching); },
                               Offence::kQuestionInUse},
                    BadMessage{"AsksUnderTheNumberOfACallThatStillRuns",
                               [](RawPeer& p) {
                                 p.callDiscovery(kFree);
                                 p.finish(kFree, true);
                                 p.callDiscovery(kFree);
                               },
                               Offence::kQuestionInUse},
                    BadMessage{"AsksOneTooMany",
                               [](RawPeer& p) {
                                 for (std::uint32_t q = kFree; q <= kMaxOpenQuestions; ++q)
                                   p.callDiscovery(q);
                               },
                               Offence::kTooManyQuestions}),
    [](const auto& row) { return row.param.name; });

TEST_F(HangsUpOn, WhoLetsEverythingWait) {
  RawPeer peer(server_.connect(Metering::kOn));
  peer.enter();
  settle();
  peer.drain();
  std::uint32_t q = kFree;
  // These fill the socket. Each is answered before the next: Cap'n Proto 1.1 writes what one turn
  // of the loop has answered at once, and so many would be open till then.
  for (; q < 12; ++q) {
    peer.callReread(q);
    peer.finish(q, true);
    settle();
  }
  ASSERT_EQ(server_.ended(), 0);
  const std::size_t before = liveHeapBytes();
  // What follows waits: answer, update and its end each.
  for (; q < 30 && server_.ended() == 0; ++q) {
    peer.callWatch(q, q);
    peer.finish(q, true);
    settle();
  }
  EXPECT_EQ(server_.offence(), Offence::kDoesNotRead);
  EXPECT_EQ(server_.ended(), 1);
  EXPECT_LT(liveHeapBytes(), before) << "hanging up frees the connection";
}

// The frame of a message: number of segments less one, then the words of each.
INSTANTIATE_TEST_SUITE_P(Bytes, HangsUp,
                         testing::Values(bytes("Garbage", {0xa5a5a5a5, 0xa5a5a5a5}),
                                         bytes("SegmentCountThatOverflows", {0xffffffff, 1}),
                                         bytes("TooManySegments", {600, 1}),
                                         bytes("Oversize", {0, 8193}),
                                         bytes("OversizeInSegments", {1, 8000, 8000, 0}),
                                         bytes("Empty", {0, 0}),
                                         bytes("RootIsAList", {0, 2, 1, 0x12, 0, 0}),
                                         bytes("RootOutside", {0, 1, 0x1000, 0x10001})),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate
