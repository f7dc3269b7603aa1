#include "plugind/privd/config_watch.h"

#include "plugind/base/log_line.h"
#include "plugind/privd/gate_client.h"

#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

/// The gate's tickets grow from 1 and never get here.
constexpr std::uint32_t kTicket = 0xffff'ffff;
/// After a file that cannot be opened: privd would answer the same at once.
constexpr auto kPause = 5 * kj::SECONDS;

}  // namespace

ConfigWatch::ConfigWatch(schema::Session::Client session,
                         std::shared_ptr<DescriptorReceiver> descriptors, PrivdEvents& events,
                         kj::Timer& timer)
    : session_(kj::mv(session)),
      descriptors_(std::move(descriptors)),
      events_(events),
      timer_(timer) {}

kj::Promise<void> ConfigWatch::run() {
  auto request = session_.configurationRequest();
  request.setTicket(kTicket);
  if (known_) {
    request.initKnown().setInode(known_->inode);
    request.getKnown().setChanged(known_->changed.time_since_epoch().count());
  }
  auto file =
      descriptors_->await(kTicket, DescriptorKind::kFile)
          .attach(kj::defer([descriptors = descriptors_]() { descriptors->forget(kTicket); }));
  return request.send().then(
      [this, file = kj::mv(file)](
          capnp::Response<schema::Session::ConfigurationResults> response) mutable {
        return take(response.getAnswer(), kj::mv(file));
      });
}

kj::Promise<void> ConfigWatch::take(schema::ConfigurationAnswer::Reader answer,
                                    kj::Promise<kj::AutoCloseFd> file) {
  switch (answer.which()) {
    case schema::ConfigurationAnswer::NONE:
      return kj::READY_NOW;
    case schema::ConfigurationAnswer::FAILED:
      file = nullptr;
      return complain(std::string("privd cannot open it: ") + strerror(answer.getFailed()));
    case schema::ConfigurationAnswer::TOO_MANY:
      file = nullptr;
      return complain("privd holds 64 descriptors that we did not take");
    case schema::ConfigurationAnswer::FILE:
      break;
  }
  const auto size = answer.getFile().getSize();
  const auto identity = identityOf(answer.getFile().getIdentity());
  return file.then([this, size, identity](kj::AutoCloseFd arrived) -> kj::Promise<void> {
    const auto text = readPosted(arrived.get(), size);
    // Shorter than it was: it is being written, and its end is told too.
    if (!text) return complain(text.error());
    known_ = identity;
    lastComplaint_.clear();
    events_.configurationPosted(*text);
    return run();
  });
}

kj::Promise<void> ConfigWatch::complain(const std::string& why) {
  if (std::exchange(lastComplaint_, why) != why) {
    logWarning(LogEvent::kConfigRefused, {{"why", why}, {"then", "the one in effect stays"}});
  }
  return timer_.afterDelay(kPause).then([this]() { return run(); });
}

}  // namespace vfiogate
