#include "privd/gate/plugind_lease.h"

#include "privd/base/instance_lock.h"

#include <kj/debug.h>
#include <kj/string.h>

#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <cerrno>

namespace vfiogate {
namespace {

constexpr const char* kName = "plugind.lock";
constexpr std::size_t kLongestTicket = 32;

kj::String textOf(std::uint64_t ticket) {
  return kj::str("ticket=", ticket, "\n");
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
  return lockIfFree(openLock(O_RDONLY));
}

std::optional<PlugindLease::Leased> PlugindLease::take(std::uint64_t ticket) {
  // For reading: who is handed it can neither change the ticket nor make the file large.
  kj::AutoCloseFd lock = openLock(O_RDONLY);
  if (!lockIfFree(lock)) {
    const bool known = readText(lock, kLongestTicket) == textOf(ticket).cStr();
    if (ticket == 0 || !known) return std::nullopt;
    return Leased{ticket, std::nullopt};
  }
  if (++lastTicket_ == 0) ++lastTicket_;
  const auto text = textOf(lastTicket_);
  KJ_SYSCALL(write(openLock(O_WRONLY | O_TRUNC), text.begin(), text.size()));
  return Leased{lastTicket_, kj::mv(lock)};
}

kj::AutoCloseFd PlugindLease::openLock(int flags) const {
  auto opened = openAt(directory_, kName, flags | O_NOFOLLOW | O_NONBLOCK, RESOLVE_BENEATH);
  if (!opened) KJ_FAIL_SYSCALL("openat2", opened.error().error, kName);
  return kj::mv(opened).value();
}

}  // namespace vfiogate
