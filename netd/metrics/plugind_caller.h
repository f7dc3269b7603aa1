#pragma once
// Dials plugind's socket for each question.

#include "netd/metrics/plugind_news.h"

#include <kj/async-io.h>
#include <kj/timer.h>

#include <string>

namespace vfiogate {

/// plugind may restart at any time: no connection outlives its question. What plugind sends is
/// bounded before it is stored, and waited for at most 2 s.
class PlugindCaller final : public PlugindSource {
public:
  /// Borrows `streams` and `timer`.
  PlugindCaller(std::string socket, kj::LowLevelAsyncIoProvider& streams, kj::Timer& timer)
      : socket_(std::move(socket)), streams_(streams), timer_(timer) {}

  kj::Promise<PlugindAnswer> ask() override;

private:
  const std::string socket_;
  kj::LowLevelAsyncIoProvider& streams_;
  kj::Timer& timer_;
};

}  // namespace vfiogate
