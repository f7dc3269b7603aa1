#pragma once
// Answers plugind's own user: `plugind status`, `plugind explain`, metrics.

#include "ipc/types/bdf.h"
#include "plugind/loop_parts.h"

#include <kj/async.h>
#include <kj/io.h>

#include <string>

namespace vfiogate {

/// Where the answers come from; whole documents.
class DeskSource {
public:
  virtual std::string statusJson() const = 0;
  virtual std::string explainJson(const Bdf& address) const = 0;
  virtual kj::Promise<std::string> metricsText() const = 0;

protected:
  ~DeskSource() = default;
};

/// The loop's thread only.
class DeskServer final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows `source`.
  DeskServer(const DeskSource& source, const LoopParts& loop);
  KJ_DISALLOW_COPY(DeskServer);

  /// Serves a visitor until it leaves, at most some seconds. Too many at a time are sent away.
  void admit(kj::AutoCloseFd connection);

private:
  void taskFailed(kj::Exception&& exception) override;

  const DeskSource& source_;
  const LoopParts loop_;
  unsigned visitors_ = 0;
  kj::TaskSet visits_;
};

}  // namespace vfiogate
