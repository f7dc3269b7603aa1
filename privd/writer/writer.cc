#include "privd/writer/writer.h"

#include "ipc/types/selector.h"
#include "privd/base/log_line.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

using Kind = WriteOutcome::Kind;
using FdObserver = kj::UnixEventPort::FdObserver;

constexpr auto kSendPause = 50 * kj::MILLISECONDS;

/// Null: nothing has been said yet.
kj::Maybe<WriteOutcome> readAnswer(int answersFd) {
  int error = 0;
  std::array<char, sizeof(error) + kLongestSerial + 1> said;
  const ssize_t size = read(answersFd, said.data(), said.size());
  if (size < 0 && errno == EAGAIN) return nullptr;
  if (size < static_cast<ssize_t>(sizeof(error))) return WriteOutcome{Kind::kDied};
  memcpy(&error, said.data(), sizeof(error));
  std::string serial(said.data() + sizeof(error), static_cast<std::size_t>(size) - sizeof(error));
  // The child has looked at bytes of the card's making: what it says is looked at again.
  if (!serial.empty() && !isSerialNumber(serial)) return WriteOutcome{Kind::kDied};
  if (error == 0) return WriteOutcome{Kind::kWritten, 0, std::move(serial)};
  if (error > 0) return WriteOutcome{Kind::kFailed, error};
  return WriteOutcome{Kind::kRefused, -error};
}

kj::String wordsFor(const WriteOutcome& outcome) {
  if (outcome.kind == Kind::kWritten) return kj::str("written");
  return outcome.error == 0 ? kj::str("unknown") : kj::str(strerror(outcome.error));
}

}  // namespace

/// A write or read under way, for as long as its answer may come.
struct Writer::Pending {
  Pending(kj::UnixEventPort& port, kj::StringPtr itsName, Act itsAct, kj::AutoCloseFd fd)
      : name(kj::heapString(itsName)),
        act(itsAct),
        answers(kj::mv(fd)),
        observer(port, answers.get(), FdObserver::OBSERVE_READ) {}

  kj::String name;
  Act act;
  kj::AutoCloseFd answers;
  FdObserver observer;
  kj::PromiseFulfillerPair<WriteOutcome> told = kj::newPromiseAndFulfiller<WriteOutcome>();
  bool late = false;
  kj::Promise<void> deadline = nullptr;
};

Writer::Writer(kj::UnixEventPort& port, kj::Timer& timer, ForkServer server,
               kj::Function<void(kj::StringPtr name, WriteOutcome)> lateEnd)
    : port_(port),
      timer_(timer),
      server_(kj::mv(server)),
      serverObserver_(port, server_.socketFd(), FdObserver::OBSERVE_READ),
      lateEnd_(kj::mv(lateEnd)),
      tasks_(*this) {
  tasks_.add(serverObserver_.whenBecomesReadable().then([this]() { noticeLoss(); }));
}

kj::Promise<WriteOutcome> Writer::write(kj::StringPtr name, kj::AutoCloseFd attribute,
                                        std::string text, int lockFd, kj::Duration patience) {
  return tryUntil(timer_.now() + kSendPatience, kj::heapString(name), kj::mv(attribute),
                  std::move(text), lockFd, patience);
}

kj::Promise<WriteOutcome> Writer::tryUntil(kj::TimePoint end, kj::String name,
                                           kj::AutoCloseFd attribute, std::string text, int lockFd,
                                           kj::Duration patience) {
  if (stuck_ >= kMostStuck) return WriteOutcome{Kind::kRefused, EBUSY};
  bool crowded = false;
  auto begun = begin(name, Act::kWrite, patience, [&](int answerFd) {
    const int error = server_.ask(text, attribute.get(), answerFd, lockFd);
    crowded = error == ETOOMANYREFS && timer_.now() < end;
    return error;
  });
  if (!crowded) return begun;
  return timer_.afterDelay(kSendPause)
      .then([this, end, name = kj::mv(name), attribute = kj::mv(attribute), text = std::move(text),
             lockFd, patience]() mutable {
        return tryUntil(end, kj::mv(name), kj::mv(attribute), std::move(text), lockFd, patience);
      });
}

kj::Promise<WriteOutcome> Writer::readSerial(kj::StringPtr name, kj::AutoCloseFd attribute) {
  if (reads_.size() >= kMostReads || reads_.contains(name.cStr())) {
    return WriteOutcome{Kind::kRefused, EBUSY};
  }
  return begin(name, Act::kRead, kReadPatience,
               [&](int answerFd) { return server_.askSerial(attribute.get(), answerFd); });
}

template <typename Ask>
kj::Promise<WriteOutcome> Writer::begin(kj::StringPtr name, Act act, kj::Duration patience,
                                        Ask ask) {
  // A pair of sockets rather than a pipe: privd's filter knows it already.
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return WriteOutcome{Kind::kRefused, errno};
  }
  auto pending = kj::heap<Pending>(port_, name, act, kj::AutoCloseFd(pair[0]));
  const kj::AutoCloseFd theirs(pair[1]);
  if (const int error = ask(theirs.get())) {
    if (error == EPIPE || error == ECONNRESET) noticeLoss();
    return WriteOutcome{Kind::kRefused, error};
  }
  if (act == Act::kRead) reads_.insert(name.cStr());
  auto told = kj::mv(pending->told.promise);
  pending->deadline = timer_.afterDelay(patience)
                          .then([this, &pending = *pending]() { beLate(pending); })
                          .eagerlyEvaluate(nullptr);
  auto answer = awaitAnswer(*pending);
  tasks_.add(answer.attach(kj::mv(pending)));
  return told;
}

kj::Promise<void> Writer::awaitAnswer(Pending& pending) {
  return pending.observer.whenBecomesReadable().then([this, &pending]() -> kj::Promise<void> {
    KJ_IF_MAYBE (outcome, readAnswer(pending.answers.get())) {
      end(pending, *outcome);
      return kj::READY_NOW;
    }
    return awaitAnswer(pending);
  });
}

void Writer::beLate(Pending& pending) {
  pending.late = true;
  if (pending.act == Act::kWrite) ++stuck_;
  logLine(LogEvent::kWriteStuck, {{"write", kj::str(pending.name)}, {"stuck", kj::str(stuck_)}});
  pending.told.fulfiller->fulfill(WriteOutcome{Kind::kStuck});
}

void Writer::end(Pending& pending, WriteOutcome outcome) {
  pending.deadline = nullptr;
  if (pending.act == Act::kRead) reads_.erase(pending.name.cStr());
  if (!pending.late) return pending.told.fulfiller->fulfill(kj::mv(outcome));
  const bool isRead = pending.act == Act::kRead && outcome.kind == Kind::kWritten;
  logLine(LogEvent::kWriteEndedLate, {{"write", kj::str(pending.name)},
                                      {"outcome", isRead ? kj::str("read") : wordsFor(outcome)}});
  if (pending.act == Act::kRead) return;
  --stuck_;
  lateEnd_(pending.name, outcome);
}

void Writer::noticeLoss() {
  if (lost_) return;
  lost_ = true;
  logLine(LogEvent::kForkServerGone);
}

void Writer::taskFailed(kj::Exception&& exception) {
  logLine(LogEvent::kWriteEndedLate, {{"outcome", kj::str(exception.getDescription())}});
}

}  // namespace vfiogate
