#pragma once
// The way to the Kubernetes API: whichever netd is attached.

#include "ipc/api/api_claim.h"
#include "ipc/api/device_pool.h"
#include "ipc/schema/dra.capnp.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <memory>
#include <optional>
#include <string>

namespace vfiogate {

/// Nothing fails where netd goes away or says what is wrong: the answer then says so. The loop's
/// thread only.
class ApiLink {
public:
  /// `came` is called with each netd that attaches.
  ApiLink(std::string driver, kj::Timer& timer, kj::Function<void()> came);
  KJ_DISALLOW_COPY(ApiLink);

  /// From now on this one is asked, until the returned token is dropped or another one attaches.
  std::shared_ptr<void> attach(schema::ApiServer::Client api, std::string node);

  bool isThere() const { return attached_ != nullptr; }
  /// The node that the netd attached last is on; absent: none was attached yet.
  const std::optional<std::string>& node() const { return node_; }

  /// Waits for a netd, and then for its answer, some seconds each.
  kj::Promise<ClaimAnswer> claim(const std::string& claimNamespace, const std::string& name);

  /// Absent: there is no netd, or it went before the pool was stored.
  kj::Promise<std::optional<KeptFields>> publish(const DevicePool& pool);

  /// Empty: it is stored. Otherwise why not, for people.
  kj::Promise<std::string> report(const ClaimReport& report);

private:
  struct Attached {
    schema::ApiServer::Client api;
  };
  void awaitNext();
  kj::Promise<void> there();
  kj::Promise<ClaimAnswer> ask(const std::string& claimNamespace, const std::string& name);

  const std::string driver_;
  kj::Timer& timer_;
  kj::Function<void()> came_;
  std::shared_ptr<Attached> attached_;
  std::optional<std::string> node_;
  kj::Own<kj::PromiseFulfiller<void>> arrival_;
  kj::ForkedPromise<void> arrived_ = nullptr;  ///< of the next netd
};

}  // namespace vfiogate
