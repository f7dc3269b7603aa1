#include "privd/gate/plugind_lease.h"

#include "privd/base/instance_lock.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace vfiogate {
namespace {

constexpr const char* kName = "plugind.lock";

std::string textOf(std::uint64_t ticket) {
  return "ticket=" + std::to_string(ticket) + "\n";
}

}  // namespace

Result<PlugindLease, ReadError> PlugindLease::open(const std::string& stateDir,
                                                   std::uint64_t ticketsAfter) {
  auto directory = openAt(AT_FDCWD, stateDir.c_str(), O_PATH | O_DIRECTORY, 0);
  if (!directory) return Failure{directory.error()};
  const int made = openat(*directory, kName, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (made < 0) return Failure{ReadError{errno}};
  close(made);
  return PlugindLease(kj::mv(directory).value(), ticketsAfter);
}

bool PlugindLease::isFree() const {
  const auto lock = openLock(O_RDONLY);
  return lock && lockIfFree(*lock);
}

Result<PlugindLease::Leased, ReadError> PlugindLease::take(std::uint64_t ticket) {
  // For reading: who is handed it can neither change the ticket nor make the file large.
  auto lock = openLock(O_RDONLY);
  if (!lock) return Failure{lock.error()};
  if (!lockIfFree(*lock)) {
    const std::string shown = textOf(ticket);
    const bool known = ticket != 0 && readText(*lock, shown.size()) == shown;
    if (!known) return Failure{ReadError{EWOULDBLOCK}};
    return Leased{ticket, std::nullopt};
  }
  if (++lastTicket_ == 0) ++lastTicket_;
  // Over the one before, of which a rest may stay: so a disk that is full has room for it.
  const auto file = openLock(O_WRONLY);
  if (!file) return Failure{file.error()};
  if (const int error = writeWhole(*file, textOf(lastTicket_)); error != 0) {
    return Failure{ReadError{error}};
  }
  return Leased{lastTicket_, kj::mv(lock).value()};
}

Result<kj::AutoCloseFd, ReadError> PlugindLease::openLock(int flags) const {
  return openAt(directory_, kName, flags | O_NOFOLLOW | O_NONBLOCK, RESOLVE_BENEATH);
}

}  // namespace vfiogate
