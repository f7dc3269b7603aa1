#include "tests/support/taken_over/captive.h"

#include "ipc/codec/descriptor_channel.h"
#include "ipc/socket/unix_socket.h"
#include "seccomp/drop_privileges.h"
#include "seccomp/load_filter.h"
#include "seccomp/plugind_rules.h"

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

PrivdConnection Captive::next() {
  while (true) {
    auto accepted = acceptFrom(listener_.get());
    KJ_IF_MAYBE (connection, accepted) {
      while (true) {
        auto received = receiveOpening(connection->get());
        if (!received) kj::throwFatalException(KJ_EXCEPTION(FAILED, received.error().c_str()));
        auto opening = kj::mv(received).value();
        KJ_IF_MAYBE (channel, opening) {
          return {kj::mv(*connection), kj::mv(*channel)};
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

std::vector<Parcel> takeParcels(int channel) {
  std::vector<Parcel> all;
  while (true) {
    std::uint32_t wire[2] = {};
    union {
      cmsghdr header;
      char room[CMSG_LEN(sizeof(int))];
    } control = {};
    iovec part = {wire, sizeof(wire)};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof(control.room);
    if (recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return all;
    int fd = -1;
    memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
    all.push_back(Parcel{wire[0], wire[1], kj::AutoCloseFd(fd)});
  }
}

}  // namespace vfiogate::test
