#pragma once
// Dials plugind, again whenever either comes back.

#include "privd/base/open_file.h"

#include <kj/common.h>
#include <kj/io.h>

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace vfiogate {

/// Dials the socket on which plugind listens: 5 ms after another socket is seen there, and
/// otherwise after 50 ms, doubling up to 2 s. Never waits.
class PlugindDial {
public:
  using Clock = std::chrono::steady_clock;

  /// Whoever listens at `path` is plugind where the kernel says that it is `plugindUid`, and not
  /// root: that a process of root's answers there, or this one, does not make it plugind.
  PlugindDial(std::string path, uid_t plugindUid);

  /// Between channels: when to dial.
  Clock::time_point due() const { return due_; }
  /// Something changed in the socket's directory.
  void look(Clock::time_point now);
  /// Our end of a new channel, which plugind has the other end of. Null: dial again when it is due.
  kj::Maybe<kj::AutoCloseFd> dial(Clock::time_point now);
  /// The channel is at its end.
  void ended(Clock::time_point now);

private:
  kj::Maybe<kj::AutoCloseFd> newChannel();
  void pause(Clock::time_point now);

  std::string path_;
  uid_t uid_;
  Clock::duration pause_;
  Clock::time_point due_;
  Clock::time_point began_;
  std::optional<FileIdentity> seen_;  ///< the socket that was there
  bool absenceTold_ = false;
};

}  // namespace vfiogate
