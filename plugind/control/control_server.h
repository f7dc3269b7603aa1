#pragma once
// Answers plugind's own user (`plugind status`, `explain`, `probe`) and netd.

#include "ipc/types/unit_id.h"
#include "plugind/base/task_queue.h"
#include "plugind/base/visitor.h"
#include "plugind/core/status/status.h"
#include "plugind/dra/api/api_listener.h"

#include <kj/async.h>
#include <kj/io.h>

#include <map>
#include <string>

namespace vfiogate {

/// Where the answers come from; whole documents.
class ControlSource {
public:
  /// With the use of what is allocated as it is now.
  virtual kj::Promise<std::string> statusJson() = 0;
  virtual std::string explainJson(const UnitId& address) const = 0;
  virtual kj::Promise<std::string> metricsText() = 0;
  virtual PluginReadiness readiness() const = 0;

protected:
  ~ControlSource() = default;
};

/// The loop's thread only.
class ControlServer final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows `source` and `api`; null: no DRA driver is configured.
  ControlServer(ControlSource& source, ApiListener* api, const LoopDeps& loop);
  KJ_DISALLOW_COPY(ControlServer);

  /// Serves a visitor with what it may ask until it leaves, at most some seconds; a netd that
  /// attached an API server, until another one does. Too many of its
  /// kind at a time are sent away, so that neither kind shuts the other out. netd, which has a
  /// network, is hung up on as soon as it breaks a limit of MeteredStream.
  void admit(kj::AutoCloseFd connection, Visitor who);

private:
  void keep(kj::Promise<void> visit, kj::Promise<void> timeOver, Visitor who);
  kj::Promise<void> untilReplaced();
  void taskFailed(kj::Exception&& exception) override;

  ControlSource& source_;
  ApiListener* api_;
  const LoopDeps loop_;
  kj::Own<kj::PromiseFulfiller<void>> replaced_;  ///< ends the visit that attached last
  std::map<Visitor, unsigned> visitors_;
  kj::TaskSet visits_;
};

}  // namespace vfiogate
