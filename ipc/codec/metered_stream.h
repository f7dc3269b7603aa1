#pragma once
// Bounds what a peer can make us hold, below Cap'n Proto.

#include "ipc/codec/limits.h"

#include <capnp/rpc.capnp.h>
#include <capnp/serialize-async.h>
#include <kj/async-io.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <cstdint>
#include <set>

namespace vfiogate {

/// Why a peer was hung up on.
enum class Offence : std::uint8_t {
  kTooManyQuestions,     ///< more open at once than any honest peer needs
  kQuestionInUse,        ///< a question number that is still open
  kUnknownQuestion,      ///< finishes a question that is not open
  kUnusedMessage,        ///< a kind of message, or of capability in it, that nobody sends here
  kTooManyCapabilities,  ///< in one message
  kHoards,               ///< holds more of our capabilities than there are groups on any node
  kDoesNotRead,          ///< lets too many answers wait
  kMalformed,            ///< cannot be read within the limits
};

/// For the log: "peer has more than 16 questions open".
kj::StringPtr reasonOf(Offence offence);

/// What is taken of the peer's.
struct PeerBounds {
  capnp::ReaderOptions message;
  std::size_t capabilities;  ///< in one message
};

/// Of plugind, by privd's hardware process; of visitors, by plugind.
inline constexpr PeerBounds kPeerBounds{kFromPeer, kMaxCapabilities};
/// Of privd's hardware process, by plugind: a control of each group comes with the whole.
inline constexpr PeerBounds kHardwareBounds{kFromHardware, kMaxFunctions};

/// Reads and writes the messages of one connection, and ends it when the peer breaks a rule. What
/// it reads is held to its bounds whatever the network above says; give that one kFromPrivd, since
/// it holds what it sends to its own limit.
///
/// Cap'n Proto's own limits count neither answers nor exports nor bootstraps: a peer within all of
/// them can make a server hold gigabytes. A question is open here from its arrival until the peer's
/// Finish has come *and* our Return is the message being written; either alone would let a peer
/// pile up calls that never return, or answers that it never reads. A Return of Cap'n Proto 1.1 may
/// say that nothing is kept for a Finish: later peers send none then, earlier ones do.
///
/// KJ looks at signals, timers and other descriptors only when it has nothing else to do, which a
/// peer that always has something to read could put off for ever: so there is a pause after every
/// kMessagesInARow messages.
class MeteredStream final : public capnp::MessageStream {
public:
  MeteredStream(kj::AsyncIoStream& stream, kj::Timer& timer,
                const PeerBounds& bounds = kPeerBounds);

  /// Counts the messages that wait to be written; asked whenever a message comes in.
  void countQueueWith(kj::Function<std::size_t()> count) { queueCount_ = kj::mv(count); }

  /// Resolves with the first offence. The connection is to be destroyed then: a peer that does not
  /// read would keep an orderly end waiting for ever. To be called once.
  kj::Promise<Offence> offended() { return kj::mv(offended_.promise); }

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions options,
      kj::ArrayPtr<capnp::word> scratchSpace) override;
  kj::Promise<void> writeMessage(
      kj::ArrayPtr<const int> fds,
      kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  /// One message at a time, as writeMessage() counts on.
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override { return inner_.getSendBufferSize(); }
  kj::Promise<void> end() override { return inner_.end(); }

private:
  using QuestionId = std::uint32_t;

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> readMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fdSpace, kj::ArrayPtr<capnp::word> scratchSpace);
  kj::Maybe<Offence> judge(capnp::rpc::Message::Reader message);
  kj::Maybe<Offence> judgeCall(capnp::rpc::Call::Reader call);
  kj::Maybe<Offence> open(QuestionId id);
  kj::Maybe<Offence> finish(QuestionId id);
  kj::Maybe<Offence> judgeOwn(capnp::rpc::Message::Reader message);
  [[noreturn]] void hangUp(Offence offence);

  capnp::AsyncIoMessageStream inner_;
  kj::Timer& timer_;
  const PeerBounds bounds_;
  unsigned inARow_ = 0;  ///< messages read since all else had its turn
  kj::Function<std::size_t()> queueCount_ = []() -> std::size_t { return 0; };
  kj::PromiseFulfillerPair<Offence> offended_ = kj::newPromiseAndFulfiller<Offence>();
  std::set<QuestionId> unanswered_;  ///< our Return waits for those before it
  std::set<QuestionId> unfinished_;  ///< the peer's Finish has not come yet
  std::set<QuestionId> released_;    ///< over without a Finish, which may come all the same
};

}  // namespace vfiogate
