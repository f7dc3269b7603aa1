#pragma once
// Answers plugind's own user (`plugind status`, `explain`, `probe`) and netd.

#include "ipc/types/bdf.h"
#include "plugind/base/loop_parts.h"
#include "plugind/base/visitor.h"
#include "plugind/core/status/readiness.h"
#include "plugind/dra/api/api_door.h"

#include <kj/async.h>
#include <kj/io.h>

#include <map>
#include <string>

namespace vfiogate {

/// Where the answers come from; whole documents.
class DeskSource {
public:
  /// With the use of what is lent as it is now.
  virtual kj::Promise<std::string> statusJson() = 0;
  virtual std::string explainJson(const Bdf& address) const = 0;
  virtual kj::Promise<std::string> metricsText() const = 0;
  virtual PluginReadiness readiness() const = 0;

protected:
  ~DeskSource() = default;
};

/// The loop's thread only.
class DeskServer final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows `source` and `api`; null: no DRA driver is configured.
  DeskServer(DeskSource& source, ApiDoor* api, const LoopParts& loop);
  KJ_DISALLOW_COPY(DeskServer);

  /// Serves a visitor with what it may ask until it leaves, at most some seconds; a netd that
  /// attached an API server, until another one does. Too many of its
  /// kind at a time are sent away, so that neither kind shuts the other out. netd, which has a
  /// network, is hung up on as soon as it breaks a limit of MeteredStream.
  void admit(kj::AutoCloseFd connection, Visitor who);

private:
  void keep(kj::Promise<void> visit, kj::Promise<void> timeOver, Visitor who);
  kj::Promise<void> untilReplaced();
  void taskFailed(kj::Exception&& exception) override;

  DeskSource& source_;
  ApiDoor* api_;
  const LoopParts loop_;
  kj::Own<kj::PromiseFulfiller<void>> replaced_;  ///< ends the visit that attached last
  std::map<Visitor, unsigned> visitors_;
  kj::TaskSet visits_;
};

}  // namespace vfiogate
