#pragma once
// Shows the node's devices to the scheduler and their health to the kubelet.
// What people call the devices of a pool.

#include "ipc/api/device_pool.h"
#include "ipc/types/snapshot.h"
#include "plugind/core/dra/device_health.h"
#include "plugind/core/resource/model_names.h"
#include "plugind/dra/api/api_link.h"
#include "plugind/dra/claims/claim_ledger.h"
#include "plugind/dra/pool/health_stream.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <memory>
#include <optional>
#include <vector>

namespace vfiogate {

/// Adds the attribute `productName` to each device of `hardware` whose model `products` has, cut
/// to what the API takes.
void addProductNames(DevicePool& pool, const Snapshot& hardware, const ProductNames& products);

/// Both are made anew from the ledger, at most ten times a second, and told where they differ from
/// what was told last. The loop's thread only.
class PoolPublisher final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows all but the names of products.
  PoolPublisher(ApiLink& api, const ClaimLedger& ledger,
                std::shared_ptr<const ProductNames> products, kj::Timer& timer);
  KJ_DISALLOW_COPY(PoolPublisher);

  /// Something may look different.
  void changed();
  /// A new netd: it has been told nothing yet.
  void apiCame();

  void healthOpened(std::shared_ptr<HealthStream> stream);
  void healthEnded(const HealthStream& stream);

  /// What netd was told last.
  const std::optional<DevicePool>& told() const { return told_; }
  /// By which it sent that on; absent: it has not yet.
  std::optional<ResourceApi> resourceApi() const { return server_.api; }

private:
  void update();
  void publish(const DevicePool& pool);
  void kept(const std::optional<KeptFields>& kept);
  kj::Promise<void> beatForever();
  void taskFailed(kj::Exception&& exception) override;

  ApiLink& api_;
  const ClaimLedger& ledger_;
  const std::shared_ptr<const ProductNames> products_;
  kj::Timer& timer_;
  bool due_ = false;
  KeptFields server_;
  std::optional<DevicePool> told_;
  HealthFrame health_;
  std::vector<std::shared_ptr<HealthStream>> streams_;
  kj::Promise<void> publishing_ = nullptr;
  kj::Promise<void> beating_ = nullptr;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
