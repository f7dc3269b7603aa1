#pragma once
// What plugind tells netd, and who fetches it.

#include "ipc/base/result.h"

#include <kj/async.h>

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

}  // namespace vfiogate
