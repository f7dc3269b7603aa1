#include "privd/iommufd/iommufd_server.h"

#include "ipc/gate/packet_socket.h"
#include "privd/base/log_line.h"
#include "privd/base/plain_loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

constexpr auto kLeftOutPause = std::chrono::seconds(10);
/// Where there is no descriptor, or memory, for a connection.
constexpr auto kAcceptPause = std::chrono::seconds(1);
/// Before replies are read again, and what is due is done, however many connect.
constexpr int kMostAccepted = 16;
constexpr std::string_view kByte("\0", 1);

std::string_view whyNotSent(PacketSent sent) {
  switch (sent) {
    case PacketSent::kTooManyRefs:
      return "too many descriptors are under way";
    case PacketSent::kFull:
      return "no room";
    default:
      return "it left";
  }
}

void tellUnanswered(std::string_view why) {
  logLine(LogEvent::kIommufdUnanswered, {{"why", std::string(why)}});
}

void tellRefused(std::string_view step, std::string_view error) {
  logLine(LogEvent::kIommufdRefused, {{"step", std::string(step)}, {"error", std::string(error)}});
}

/// The peer replied, whatever it says, or hung up.
bool isDone(int connection) {
  char reply = 0;
  return read(connection, &reply, 1) >= 0 || errno != EAGAIN;
}

}  // namespace

IommufdServer::IommufdServer(kj::AutoCloseFd listener, int signals, OpenContext open)
    : listener_(kj::mv(listener)),
      signals_(signals),
      open_(std::move(open)),
      leftOutDue_(Clock::now() + kLeftOutPause) {}

void IommufdServer::run() {
  while (turn(kLeftOutPause)) {
  }
}

bool IommufdServer::turn(Clock::duration longest) {
  const bool accepts = Clock::now() >= acceptDue_;
  std::vector<pollfd> sources{{signals_, POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
  for (const Peer& peer : peers_) sources.push_back({peer.connection.get(), POLLIN, 0});
  auto due = std::min(Clock::now() + longest, leftOutDue_);
  if (!accepts) due = std::min(due, acceptDue_);
  if (!peers_.empty()) due = std::min(due, peers_.front().due);
  awaitAny(sources, std::max(due - Clock::now(), Clock::duration::zero()));
  if (sources[0].revents != 0) return false;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (sources[i + 2].revents != 0) peers_[i].done = isDone(peers_[i].connection.get());
  }
  std::erase_if(peers_, [](const Peer& peer) { return peer.done; });
  const auto now = Clock::now();
  dropSilent(now);
  if (sources[1].revents != 0) acceptSome(now);
  if (now >= leftOutDue_) {
    tellLeftOut();
    leftOutDue_ = now + kLeftOutPause;
  }
  return true;
}

void IommufdServer::dropSilent(Clock::time_point now) {
  while (!peers_.empty() && now >= peers_.front().due) {
    tellUnanswered("silent");
    peers_.pop_front();
  }
}

void IommufdServer::acceptSome(Clock::time_point now) {
  for (int accepted = 0; accepted < kMostAccepted; ++accepted) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)) return;
    if (fd < 0) {
      tellRefused("accept", strerror(errno));
      acceptDue_ = now + kAcceptPause;
      return;
    }
    serve(kj::AutoCloseFd(fd), now);
  }
}

void IommufdServer::serve(kj::AutoCloseFd connection, Clock::time_point now) {
  const auto context = open_();
  if (!context) {
    tellRefused(context.error().step, strerror(context.error().error));
    return;
  }
  const PacketSent sent = sendPacket(connection.get(), kByte, context->get());
  if (sent != PacketSent::kSent) {
    tellRefused("send", whyNotSent(sent));
    return;
  }
  logLine(LogEvent::kIommufdSent);
  if (peers_.size() >= kMostPeers) {
    tellUnanswered("displaced");
    peers_.pop_front();
  }
  peers_.push_back({kj::mv(connection), now + kPatience});
}

}  // namespace vfiogate
