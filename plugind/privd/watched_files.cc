#include "plugind/privd/watched_files.h"

#include "plugind/base/log_line.h"

#include <utility>

namespace vfiogate {
namespace {

/// After a file that cannot be read.
constexpr auto kPause = 5 * kj::SECONDS;

}  // namespace

void ConfigWatch::seen(const std::optional<gate::FileIdentity>& now) {
  if (!now || now == known_) return;
  // What fails here is the connection, which is told otherwise.
  reading_ = read().eagerlyEvaluate([](kj::Exception&& /*away*/) {});
}

kj::Promise<void> ConfigWatch::read() {
  return gate_.configuration().then(
      [this](Result<ConfigurationFile, SocketRefusal> file) -> kj::Promise<void> {
        // Not there: when it is, that is told. Shorter than it was: it is being written.
        if (!file && file.error().absent) return kj::READY_NOW;
        if (!file) return complain(file.error().why);
        known_ = file->identity;
        lastComplaint_.clear();
        events_.configurationPosted(file->text);
        return kj::READY_NOW;
      });
}

kj::Promise<void> ConfigWatch::complain(const std::string& why) {
  if (std::exchange(lastComplaint_, why) != why) {
    logWarning(LogEvent::kConfigRefused, {{"why", why}, {"then", "the one in effect stays"}});
  }
  return timer_.afterDelay(kPause).then([this]() { return read(); });
}

}  // namespace vfiogate
