#include "ipc/codec/metered_stream.h"

#include "ipc/codec/limits.h"

#include <capnp/serialize.h>
#include <kj/debug.h>

namespace vfiogate {
namespace {

using capnp::rpc::Message;
using CapTable = capnp::List<capnp::rpc::CapDescriptor>::Reader;

/// Judges the capabilities that a peer passes: objects of its own, which is how an observer comes.
kj::Maybe<Offence> judgePassed(CapTable table, std::size_t most) {
  if (table.size() > most) return Offence::kTooManyCapabilities;
  for (const auto passed : table) {
    if (!passed.isSenderHosted() && !passed.isNone()) return Offence::kUnusedMessage;
  }
  return nullptr;
}

/// Cap'n Proto 0.9.2 takes a type that does not exist as it comes, and looks its name up beyond the
/// end of a table.
kj::Maybe<Offence> judgeException(capnp::rpc::Exception::Reader exception) {
  if (exception.getType() <= capnp::rpc::Exception::Type::UNIMPLEMENTED) return nullptr;
  return Offence::kUnusedMessage;
}

kj::Maybe<Offence> judgeReturn(capnp::rpc::Return::Reader answer, std::size_t most) {
  if (answer.isCanceled()) return nullptr;
  if (answer.isException()) return judgeException(answer.getException());
  if (!answer.isResults()) return Offence::kUnusedMessage;
  return judgePassed(answer.getResults().getCapTable(), most);
}

/// Whether `table`, which goes to the peer, leaves it with too much. Cap'n Proto always takes the
/// lowest free number, so that many are held when a number is that high.
bool overfills(CapTable table) {
  for (const auto passed : table) {
    if (passed.isSenderHosted() && passed.getSenderHosted() >= kMaxHeldCapabilities) return true;
    if (passed.isSenderPromise() && passed.getSenderPromise() >= kMaxHeldCapabilities) return true;
  }
  return false;
}

/// True if the answer says that no Finish is awaited. Cap'n Proto 0.9 does not know to say so.
template <typename Return>
bool needsNoFinish(const Return& answer) {
  if constexpr (requires { answer.getNoFinishNeeded(); }) {
    return answer.getNoFinishNeeded();
  } else {
    return false;
  }
}

}  // namespace

kj::StringPtr reasonOf(Offence offence) {
  static_assert(kMaxOpenQuestions == 16 && kMaxHeldCapabilities == 8192 && kMaxQueuedMessages == 32,
                "the texts below say the numbers");
  switch (offence) {
    case Offence::kTooManyQuestions:
      return "peer has more than 16 questions open";
    case Offence::kQuestionInUse:
      return "peer reuses a question number that is open";
    case Offence::kUnknownQuestion:
      return "peer finishes a question that is not open";
    case Offence::kUnusedMessage:
      return "peer sends a kind of message or capability that has no use here";
    case Offence::kTooManyCapabilities:
      return "peer sends more capabilities at once than it may";
    case Offence::kHoards:
      return "peer holds more than 8192 capabilities";
    case Offence::kDoesNotRead:
      return "peer leaves more than 32 messages unread";
    case Offence::kMalformed:
      return "peer sends what is no message within the limits";
  }
  return "peer breaks the rules";
}

MeteredStream::MeteredStream(kj::AsyncIoStream& stream, kj::Timer& timer, const PeerBounds& bounds)
    : inner_(stream), timer_(timer), bounds_(bounds) {}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MeteredStream::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions,
    kj::ArrayPtr<capnp::word> scratchSpace) {
  if (++inARow_ < kMessagesInARow) return readMessage(fdSpace, scratchSpace);
  inARow_ = 0;
  return timer_.afterDelay(0 * kj::SECONDS).then([this, fdSpace, scratchSpace]() {
    return readMessage(fdSpace, scratchSpace);
  });
}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MeteredStream::readMessage(
    kj::ArrayPtr<kj::AutoCloseFd> fdSpace, kj::ArrayPtr<capnp::word> scratchSpace) {
  // Not the network's options: Cap'n Proto holds what we *send* to those, too.
  return inner_.tryReadMessage(fdSpace, bounds_.message, scratchSpace)
      .then(
          [this](kj::Maybe<capnp::MessageReaderAndFds>&& read) {
            KJ_IF_MAYBE (message, read) {
              kj::Maybe<Offence> offence = Offence::kMalformed;
              auto unreadable = kj::runCatchingExceptions(
                  [&]() { offence = judge(message->reader->getRoot<Message>()); });
              if (unreadable != nullptr) offence = Offence::kMalformed;
              KJ_IF_MAYBE (found, offence) hangUp(*found);
            }
            return kj::mv(read);
          },
          [this](kj::Exception&& e) -> kj::Maybe<capnp::MessageReaderAndFds> {
            if (e.getType() == kj::Exception::Type::FAILED) hangUp(Offence::kMalformed);
            kj::throwFatalException(kj::mv(e));
          });
}

kj::Promise<void> MeteredStream::writeMessage(
    kj::ArrayPtr<const int> fds, kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  capnp::SegmentArrayMessageReader own(segments);
  KJ_IF_MAYBE (found, judgeOwn(own.getRoot<Message>())) hangUp(*found);
  return inner_.writeMessage(fds, segments);
}

kj::Promise<void> MeteredStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  kj::Promise<void> written = kj::READY_NOW;
  for (const auto& segments : messages) {
    written = written.then([this, segments]() { return writeMessage(nullptr, segments); });
  }
  return written;
}

kj::Maybe<Offence> MeteredStream::judge(Message::Reader message) {
  if (queueCount_() > kMaxQueuedMessages) return Offence::kDoesNotRead;
  switch (message.which()) {
    case Message::BOOTSTRAP:
      return open(message.getBootstrap().getQuestionId());
    case Message::CALL:
      return judgeCall(message.getCall());
    case Message::RETURN:
      return judgeReturn(message.getReturn(), bounds_.capabilities);
    case Message::FINISH:
      return finish(message.getFinish().getQuestionId());
    case Message::RELEASE:
      return nullptr;
    case Message::ABORT:
      return judgeException(message.getAbort());
    default:
      return Offence::kUnusedMessage;
  }
}

kj::Maybe<Offence> MeteredStream::judgeCall(capnp::rpc::Call::Reader call) {
  if (!call.getSendResultsTo().isCaller()) return Offence::kUnusedMessage;
  KJ_IF_MAYBE (found, judgePassed(call.getParams().getCapTable(), bounds_.capabilities)) {
    return *found;
  }
  return open(call.getQuestionId());
}

kj::Maybe<Offence> MeteredStream::open(QuestionId id) {
  if (unanswered_.contains(id) || unfinished_.contains(id)) return Offence::kQuestionInUse;
  // What is open is in one set or in both, so neither alone says how much is.
  std::size_t opened = unanswered_.size();
  for (const QuestionId other : unfinished_) opened += unanswered_.contains(other) ? 0U : 1U;
  if (opened >= kMaxOpenQuestions) return Offence::kTooManyQuestions;
  unanswered_.insert(id);
  unfinished_.insert(id);
  released_.erase(id);
  return nullptr;
}

kj::Maybe<Offence> MeteredStream::finish(QuestionId id) {
  if (unfinished_.erase(id) + released_.erase(id) == 0) return Offence::kUnknownQuestion;
  return nullptr;
}

kj::Maybe<Offence> MeteredStream::judgeOwn(Message::Reader message) {
  if (message.isCall()) {
    if (overfills(message.getCall().getParams().getCapTable())) return Offence::kHoards;
    return nullptr;
  }
  if (!message.isReturn()) return nullptr;
  const auto answer = message.getReturn();
  // Now, and not when it is written: a quick peer has the answer, and asks anew under the same
  // number, before we hear that the write is done. One message is written at a time, so this is
  // one answer more at most.
  unanswered_.erase(answer.getAnswerId());
  if (needsNoFinish(answer) && unfinished_.erase(answer.getAnswerId()) > 0) {
    // A peer that never sends one, under ever new numbers, is not remembered for ever.
    if (released_.size() >= kMaxOpenQuestions) released_.clear();
    released_.insert(answer.getAnswerId());
  }
  if (answer.isResults() && overfills(answer.getResults().getCapTable())) return Offence::kHoards;
  return nullptr;
}

void MeteredStream::hangUp(Offence offence) {
  offended_.fulfiller->fulfill(kj::cp(offence));
  kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED, reasonOf(offence)));
}

}  // namespace vfiogate
