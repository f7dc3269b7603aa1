#include "plugind/dra/pool/pool_publisher.h"

#include "plugind/base/log_line.h"
#include "plugind/core/dra/device_attributes.h"
#include "plugind/core/dra/device_health.h"
#include "plugind/core/dra/pool_of.h"

#include <algorithm>
#include <string>
#include <utility>

namespace vfiogate {
namespace {

/// Changes come in bursts.
constexpr auto kGather = 100 * kj::MILLISECONDS;
/// The kubelet takes a device that it was not told of for 30 s for unknown.
constexpr auto kHeartbeat = 10 * kj::SECONDS;

}  // namespace

PoolPublisher::PoolPublisher(ApiLink& api, const ClaimLedger& ledger,
                             std::shared_ptr<const ProductNames> products, kj::Timer& timer)
    : api_(api), ledger_(ledger), products_(std::move(products)), timer_(timer), tasks_(*this) {
  beating_ = beatForever().eagerlyEvaluate(
      [this](kj::Exception&& failure) { taskFailed(kj::mv(failure)); });
}

void PoolPublisher::changed() {
  if (std::exchange(due_, true)) return;
  tasks_.add(timer_.afterDelay(kGather).then([this]() {
    due_ = false;
    update();
  }));
}

void PoolPublisher::apiCame() {
  told_.reset();
  // Another server, perhaps, or the same with other gates.
  server_ = KeptFields{};
  changed();
}

void PoolPublisher::update() {
  // Before the holders are known nothing is said: what is held would look free.
  const LedgerState& state = ledger_.ledgerState();
  if (!state.begun || !api_.node()) return;
  DevicePool pool = poolOf(ledger_.settings(), state, *api_.node(), server_);
  addProductNames(pool, state.hardware.snapshot, *products_);
  HealthFrame health = healthOf(state, pool);
  if (health != health_) {
    health_ = std::move(health);
    for (const auto& stream : streams_) stream->send(health_);
  }
  if (told_ == pool) return;
  publish(pool);
  told_ = std::move(pool);
}

void PoolPublisher::publish(const DevicePool& pool) {
  publishing_ =
      api_.publish(pool)
          .then([this](const std::optional<KeptFields>& answer) { kept(answer); })
          .eagerlyEvaluate([this](kj::Exception&& failure) { taskFailed(kj::mv(failure)); });
}

void PoolPublisher::kept(const std::optional<KeptFields>& kept) {
  if (!kept) return;
  // A pool without taints says nothing about whether the server keeps them: it stays as it was
  // seen.
  const KeptFields server{.counters = server_.counters && kept->counters,
                          .taints = server_.taints && kept->taints,
                          .api = kept->api};
  const KeptFields before = std::exchange(server_, server);
  if (server.counters == before.counters && server.taints == before.taints) return;
  logWarning(LogEvent::kFieldsDropped,
             {{"counters", server.counters},
              {"taints", server.taints},
              {"then", "one device a group is published, what is taken is left out"}});
  changed();
}

void PoolPublisher::healthOpened(std::shared_ptr<HealthStream> stream) {
  if (!health_.empty()) stream->send(health_);
  streams_.push_back(std::move(stream));
}

void PoolPublisher::healthEnded(const HealthStream& stream) {
  std::erase_if(streams_, [&stream](const auto& each) { return each.get() == &stream; });
}

kj::Promise<void> PoolPublisher::beatForever() {
  return timer_.afterDelay(kHeartbeat).then([this]() {
    for (const auto& stream : streams_) stream->send(health_);
    return beatForever();
  });
}

void PoolPublisher::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed,
           {{"task", "pool_publisher"}, {"why", exception.getDescription().cStr()}});
}

void addProductNames(DevicePool& pool, const Snapshot& hardware, const ProductNames& products) {
  constexpr std::size_t kLongestText = 64;
  for (auto& [name, published] : pool.devices) {
    const auto address = deviceAddress(name);
    const PciDevice* device = address ? functionOf(hardware, *address) : nullptr;
    if (device == nullptr || !device->vendor || !device->device) continue;
    const auto product = products.find({*device->vendor, *device->device});
    if (product == products.end()) continue;
    published.attributes.emplace("productName", product->second.substr(0, kLongestText));
  }
}

}  // namespace vfiogate
