#pragma once
// Writes into sysfs, and reads of it that ask a card: each in a process of its own, since the
// kernel may keep either for ever.

#include "privd/writer/fork_server.h"

#include <kj/async-unix.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <set>
#include <string>

namespace vfiogate {

/// Beyond Writer::kPatience, for each virtual function that a write makes.
constexpr auto kPatiencePerVf = 1 * kj::SECONDS;

/// How one write or read ended.
struct WriteOutcome {
  enum class Kind {
    kWritten,  ///< the kernel took it; whether that had an effect has to be read back. Or: it is
               ///< read
    kFailed,   ///< with `error`
    kDied,     ///< its process ended without an answer; what came of the write is not known
    kStuck,    ///< no answer in time: it may still happen
    kRefused,  ///< nothing was tried: see `error`
  };
  Kind kind;
  int error = 0;         ///< errno: of kFailed, and why kRefused (EBUSY: too many are stuck;
                         ///< EPIPE, ECONNRESET: the fork server is gone)
  std::string serial{};  ///< that was read; empty: there is none
};

/// Both promises and lateEnd come from the event loop, never from within write().
class Writer final : private kj::TaskSet::ErrorHandler {
public:
  static constexpr unsigned kMostStuck = 8;
  static constexpr auto kPatience = 5 * kj::SECONDS;
  /// For which the kernel may say that too many descriptors are under way (ETOOMANYREFS), as any
  /// process of root's can make it.
  static constexpr auto kSendPatience = 2 * kj::SECONDS;
  /// Reads that have not come back, in time or not.
  static constexpr unsigned kMostReads = 4;
  /// A card may need milliseconds for each of a thousand words.
  static constexpr auto kReadPatience = 60 * kj::SECONDS;

  /// `lateEnd` is called when a write that was reported stuck came back after all, with its name.
  Writer(kj::UnixEventPort& port, kj::Timer& timer, ForkServer server,
         kj::Function<void(kj::StringPtr name, WriteOutcome)> lateEnd);

  /// Writes `text` (1 to 256 bytes; else kRefused, EMSGSIZE) once to `attribute`, which is open for
  /// writing. `name` is for lateEnd and the log. `lockFd` (borrowed; -1: none) stays locked until
  /// the kernel has come back, whoever died meanwhile; after `patience` it is reported stuck. Never
  /// fails. Dropping the promise changes nothing but that nobody is told: the write is under way,
  /// unless the kernel has not taken its descriptors yet: then it is dropped as well.
  kj::Promise<WriteOutcome> write(kj::StringPtr name, kj::AutoCloseFd attribute, std::string text,
                                  int lockFd = -1, kj::Duration patience = kPatience);

  /// Reads the serial number from `attribute`, vital product data that is open for reading; once a
  /// `name` at a time. It takes no place of a write's, and no lateEnd tells of it. The rest as of
  /// write().
  kj::Promise<WriteOutcome> readSerial(kj::StringPtr name, kj::AutoCloseFd attribute);

  /// Writes that have not come back in time.
  unsigned stuck() const { return stuck_; }

private:
  enum class Act : bool { kWrite, kRead };
  struct Pending;

  kj::Promise<WriteOutcome> tryUntil(kj::TimePoint end, kj::String name, kj::AutoCloseFd attribute,
                                     std::string text, int lockFd, kj::Duration patience);
  template <typename Ask>
  kj::Promise<WriteOutcome> begin(kj::StringPtr name, Act act, kj::Duration patience, Ask ask);
  kj::Promise<void> awaitAnswer(Pending& pending);
  void beLate(Pending& pending);
  void end(Pending& pending, WriteOutcome outcome);
  void noticeLoss();
  void taskFailed(kj::Exception&& exception) override;

  kj::UnixEventPort& port_;
  kj::Timer& timer_;
  ForkServer server_;
  kj::UnixEventPort::FdObserver serverObserver_;
  kj::Function<void(kj::StringPtr name, WriteOutcome)> lateEnd_;
  unsigned stuck_ = 0;
  std::set<std::string> reads_;  ///< names of those that have not come back
  bool lost_ = false;
  kj::TaskSet tasks_;  // last: it uses all of the above
};

}  // namespace vfiogate
