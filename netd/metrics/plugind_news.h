#pragma once
// What plugind tells netd, and who fetches it.
// Dials plugind's socket for each question.

#include "ipc/base/result.h"

#include <kj/async-io.h>
#include <kj/async.h>
#include <kj/timer.h>

#include <string>

namespace vfiogate {

/// All of one moment.
struct PlugindNews {
  std::string metrics;  ///< in the text format of Prometheus, at most 1 MiB
  bool ready = false;
  std::string why;  ///< for people, one line
};

/// Error: for people, why plugind did not answer.
using PlugindAnswer = Result<PlugindNews, std::string>;

/// Where the news come from.
class PlugindSource {
public:
  /// Asks once. Ends within seconds, and never fails: a failure is an answer.
  virtual kj::Promise<PlugindAnswer> ask() = 0;

protected:
  ~PlugindSource() = default;
};

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
