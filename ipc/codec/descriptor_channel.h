#pragma once
// Descriptors from privd to plugind, beside Cap'n Proto and never through it.
//
// Cap'n Proto 0.9 stores the bare number of a descriptor in the queued message. A peer that stalls
// and cancels makes the server close it, and whatever was opened next under that number is sent.
// Here a descriptor is handed to the kernel in the call that asks for it, or not at all.

#include "ipc/base/result.h"

#include <kj/async-unix.h>
#include <kj/io.h>

#include <cstdint>
#include <map>
#include <string>

namespace vfiogate {

/// What a descriptor is. The numbers are the wire's.
enum class DescriptorKind : std::uint32_t {
  kListener = 1,    ///< a listening stream socket
  kConnection = 2,  ///< a connected stream socket
  kFile = 3,        ///< a regular file, for reading
  kLock = 4,        ///< a lock that is held by whoever has it open
};

/// A descriptor on its way. The ticket is the caller's, and no secret.
struct DescriptorParcel {
  std::uint32_t ticket;
  DescriptorKind kind;
  kj::AutoCloseFd fd;
};

/// privd's end. Never waits, and never reads.
class DescriptorSender {
public:
  explicit DescriptorSender(kj::AutoCloseFd socket) : socket_(kj::mv(socket)) {}

  enum class Sent : std::uint8_t {
    kSent,
    kFull,         ///< the peer leaves too many unread
    kTooManyRefs,  ///< ETOOMANYREFS: too many descriptors under way on this machine; passes
    kGone,         ///< the peer closed its end
  };

  /// Hands `fd` (borrowed) to the kernel for the peer, in one message.
  Sent send(std::uint32_t ticket, DescriptorKind kind, int fd);

private:
  kj::AutoCloseFd socket_;
};

/// plugind's end: pairs what arrives with who asked for it.
class DescriptorReceiver {
public:
  DescriptorReceiver(kj::UnixEventPort& port, kj::AutoCloseFd socket);

  /// The descriptor with this ticket, as soon as it is there. Fails if it is of another kind, or if
  /// the channel breaks or closes. One waiter a ticket; dropping the promise closes what arrives.
  kj::Promise<kj::AutoCloseFd> await(std::uint32_t ticket, DescriptorKind kind);

  /// Closes what arrived, or arrives later, for a call that did not succeed.
  void forget(std::uint32_t ticket);

private:
  struct Waiting {
    DescriptorKind kind;
    kj::Own<kj::PromiseFulfiller<kj::AutoCloseFd>> fulfiller;
  };

  kj::Promise<void> pump();
  void deliver(DescriptorParcel parcel);
  void breakOff(kj::Exception&& why);

  kj::AutoCloseFd socket_;
  kj::UnixEventPort::FdObserver observer_;
  std::map<std::uint32_t, Waiting> waiting_;
  kj::Maybe<kj::Exception> broken_;
  kj::Promise<void> task_;  // last: it uses all of the above
};

/// Opens a connection that privd dialled, before Cap'n Proto starts on it: one byte, the version,
/// with one end of a fresh pair. `connectedFd` is borrowed. Error: in words, for the log.
Result<DescriptorSender, std::string> sendOpening(int connectedFd);

/// The other side of sendOpening(): the end of the pair, close-on-exec and non-blocking. `fd` is
/// borrowed. Null: nothing has arrived yet. Error: in words, for the log; hang up then.
Result<kj::Maybe<kj::AutoCloseFd>, std::string> receiveOpening(int fd);

}  // namespace vfiogate
