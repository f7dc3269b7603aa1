#include "tests/support/taken_over/captive.h"

#include "ipc/codec/limits.h"
#include "ipc/gate/opening.h"
#include "ipc/socket/unix_socket.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/plugind_rules.h"

#include <kj/async-unix.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace vfiogate::test {
namespace {

constexpr uid_t kPlugindId = 64532;

[[noreturn]] void giveUp(const std::string& why) {
  std::fprintf(stderr, "taken_over: %s\n", why.c_str());
  std::_Exit(2);
}

/// As plugind begins.
kj::AutoCloseFd becomePlugind(const std::string& socket) {
  // A buffer of its own choosing would make the C library ask the kernel what stdout is, later.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  if (const auto failure = dropPrivileges({.identity = Identity{kPlugindId, kPlugindId}})) {
    giveUp(failure->str());
  }
  const std::filesystem::path path(socket);
  auto made =
      listenAt(path.parent_path().c_str(), path.filename().c_str(), WhoMayConnect::kEverybody);
  if (!made) giveUp(std::string(made.error().step) + ": " + strerror(made.error().error));
  return kj::mv(made).value();
}

bool hasEnded(int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

Captive::Captive(const std::string& socket) : Captive(becomePlugind(socket)) {}

Captive::Captive(kj::AutoCloseFd listener) : io(kj::setupAsyncIo()), listener_(kj::mv(listener)) {
  if (const auto failure = loadFilter(kPlugindRules)) giveUp(failure->str());
}

void Captive::awaitReadable(int fd) {
  kj::UnixEventPort::FdObserver observer(io.unixEventPort, fd,
                                         kj::UnixEventPort::FdObserver::OBSERVE_READ);
  observer.whenBecomesReadable().wait(io.waitScope);
}

kj::AutoCloseFd Captive::next(PrivdRole role) {
  while (true) {
    const auto kept = kept_.find(role);
    if (kept == kept_.end()) {
      Opening opening = accept();
      KJ_IF_MAYBE (channel, opening.channel) kept_.insert_or_assign(opening.role, kj::mv(*channel));
      continue;
    }
    kj::AutoCloseFd found = kj::mv(kept->second);
    kept_.erase(kept);
    // One that waited for too long is hung up on by now, and the next one comes.
    if (!hasEnded(found)) return found;
  }
}

Opening Captive::accept() {
  while (true) {
    auto accepted = acceptFrom(listener_.get());
    KJ_IF_MAYBE (connection, accepted) {
      while (true) {
        auto received = receiveOpening(connection->get(), kChannelVersion);
        if (!received) kj::throwFatalException(KJ_EXCEPTION(FAILED, received.error().c_str()));
        auto opening = kj::mv(received).value();
        KJ_IF_MAYBE (said, opening) {
          // The hardware process goes on on the connection itself.
          if (said->channel == nullptr) said->channel = kj::mv(*connection);
          return kj::mv(*said);
        }
        awaitReadable(connection->get());
      }
    }
    awaitReadable(listener_.get());
  }
}

void Captive::pause(kj::Duration length) {
  io.provider->getTimer().afterDelay(length).wait(io.waitScope);
}

std::string Tally::str() const {
  std::string text;
  for (const auto& [outcome, count] : counts_) {
    text += (text.empty() ? "" : ", ") + outcome + " " + std::to_string(count);
  }
  return text;
}

}  // namespace vfiogate::test
