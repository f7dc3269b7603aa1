#include "ipc/codec/metered_stream.h"

#include "ipc/codec/limits.h"

#include <capnp/serialize.h>
#include <kj/debug.h>

namespace vfiogate {
namespace {

/// The question that an outgoing message answers.
kj::Maybe<std::uint32_t> answerIn(kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  capnp::SegmentArrayMessageReader reader(segments);
  const auto message = reader.getRoot<capnp::rpc::Message>();
  if (message.isReturn()) return message.getReturn().getAnswerId();
  return nullptr;
}

}  // namespace

kj::StringPtr reasonOf(Offence offence) {
  switch (offence) {
    case Offence::kTooManyQuestions:
      return "peer has more than 16 questions open";
    case Offence::kQuestionInUse:
      return "peer reuses a question number that is open";
    case Offence::kUnknownQuestion:
      return "peer finishes a question that is not open";
    case Offence::kUnusedMessage:
      return "peer sends a kind of message that has no use here";
    case Offence::kTooManyCapabilities:
      return "peer sends more than 4 capabilities at once";
    case Offence::kDoesNotRead:
      return "peer leaves more than 32 messages unread";
    case Offence::kMalformed:
      return "peer sends what is no message within the limits";
  }
  return "peer breaks the rules";
}

MeteredStream::MeteredStream(kj::AsyncIoStream& stream) : inner_(stream) {}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MeteredStream::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd> fdSpace, capnp::ReaderOptions options,
    kj::ArrayPtr<capnp::word> scratchSpace) {
  return inner_.tryReadMessage(fdSpace, options, scratchSpace)
      .then(
          [this](kj::Maybe<capnp::MessageReaderAndFds>&& read) {
            KJ_IF_MAYBE (message, read) {
              kj::Maybe<Offence> offence = Offence::kMalformed;
              auto unreadable = kj::runCatchingExceptions(
                  [&]() { offence = judge(message->reader->getRoot<capnp::rpc::Message>()); });
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
  const auto answer = answerIn(segments);
  auto written = inner_.writeMessage(fds, segments);
  KJ_IF_MAYBE (id, answer) {
    return written.then([this, id = *id]() { answered(id); });
  }
  return written;
}

kj::Promise<void> MeteredStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  kj::Vector<QuestionId> answers;
  for (const auto& segments : messages) {
    KJ_IF_MAYBE (id, answerIn(segments)) answers.add(*id);
  }
  return inner_.writeMessages(messages).then([this, answers = kj::mv(answers)]() {
    for (const QuestionId id : answers) answered(id);
  });
}

kj::Maybe<Offence> MeteredStream::judge(capnp::rpc::Message::Reader message) {
  if (queueCount_() > kMaxQueuedMessages) return Offence::kDoesNotRead;
  switch (message.which()) {
    case capnp::rpc::Message::BOOTSTRAP:
      return open(message.getBootstrap().getQuestionId());
    case capnp::rpc::Message::CALL:
      return judgeCall(message.getCall());
    case capnp::rpc::Message::RETURN:
      return judgeReturn(message.getReturn());
    case capnp::rpc::Message::FINISH:
      return finish(message.getFinish().getQuestionId());
    case capnp::rpc::Message::RELEASE:
    case capnp::rpc::Message::ABORT:
      return nullptr;
    default:
      return Offence::kUnusedMessage;
  }
}

kj::Maybe<Offence> MeteredStream::open(QuestionId id) {
  if (unanswered_.contains(id) || unfinished_.contains(id)) return Offence::kQuestionInUse;
  // What is open is in one set or in both, so neither alone says how much is.
  std::size_t opened = unanswered_.size();
  for (const QuestionId other : unfinished_) opened += unanswered_.contains(other) ? 0U : 1U;
  if (opened >= kMaxOpenQuestions) return Offence::kTooManyQuestions;
  unanswered_.insert(id);
  unfinished_.insert(id);
  return nullptr;
}

kj::Maybe<Offence> MeteredStream::judgeCall(capnp::rpc::Call::Reader call) {
  if (!call.getSendResultsTo().isCaller()) return Offence::kUnusedMessage;
  if (call.getParams().getCapTable().size() > kMaxCapabilities) {
    return Offence::kTooManyCapabilities;
  }
  return open(call.getQuestionId());
}

kj::Maybe<Offence> MeteredStream::judgeReturn(capnp::rpc::Return::Reader answer) {
  if (answer.isException() || answer.isCanceled()) return nullptr;
  if (!answer.isResults()) return Offence::kUnusedMessage;
  if (answer.getResults().getCapTable().size() > kMaxCapabilities) {
    return Offence::kTooManyCapabilities;
  }
  return nullptr;
}

kj::Maybe<Offence> MeteredStream::finish(QuestionId id) {
  if (unfinished_.erase(id) == 0) return Offence::kUnknownQuestion;
  return nullptr;
}

void MeteredStream::answered(QuestionId id) {
  unanswered_.erase(id);
}

void MeteredStream::hangUp(Offence offence) {
  offended_.fulfiller->fulfill(kj::cp(offence));
  kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED, reasonOf(offence)));
}

}  // namespace vfiogate
