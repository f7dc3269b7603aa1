#pragma once
// One plugind a node.

#include "privd/base/open_file.h"

#include <kj/io.h>

#include <cstdint>
#include <optional>
#include <string>

namespace vfiogate {

/// The file `plugind.lock` in the state directory. Whoever has it locked may allocate, and nobody
/// else: the locked descriptor is handed over and not kept, so the lease ends with the plugind that
/// has it, and outlives privd. In the file is the ticket by which that plugind is known again.
class PlugindLease {
public:
  /// To be called once, before the lock-down. `ticketsAfter` is drawn at random: no privd before
  /// this one gave a ticket that this one will give.
  static Result<PlugindLease, ReadError> open(const std::string& stateDir,
                                              std::uint64_t ticketsAfter);

  /// No plugind is there. Where that cannot be told: false.
  bool isFree() const;

  struct Leased {
    std::uint64_t ticket;                 ///< never 0
    std::optional<kj::AutoCloseFd> lock;  ///< null: the peer has it already
  };
  /// For the plugind that shows `ticket`; 0: it has none. EWOULDBLOCK: another one has the lease.
  Result<Leased, ReadError> take(std::uint64_t ticket);

private:
  PlugindLease(kj::AutoCloseFd directory, std::uint64_t ticketsAfter)
      : directory_(kj::mv(directory)), lastTicket_(ticketsAfter) {}
  Result<kj::AutoCloseFd, ReadError> openLock(int flags) const;

  kj::AutoCloseFd directory_;
  std::uint64_t lastTicket_;
};

}  // namespace vfiogate
