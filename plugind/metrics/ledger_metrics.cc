#include "plugind/metrics/ledger_metrics.h"

#include <prometheus/text_serializer.h>

namespace vfiogate {
namespace {

/// An Allocate has 2 s; what privd answers at once takes less than a millisecond.
const prometheus::Histogram::BucketBoundaries kAllocateBuckets{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2};

}  // namespace

LedgerMetrics::LedgerMetrics()
    : events_(prometheus::BuildCounter()
                  .Name("vfiogate_ledger_events_total")
                  .Help("Lines of the journal, by event and reason code")
                  .Register(registry_)),
      refusals_(prometheus::BuildCounter()
                    .Name("vfiogate_refusals_total")
                    .Help("Requests of the kubelet that were refused, by reason code")
                    .Register(registry_)),
      reconciles_(prometheus::BuildCounter()
                      .Name("vfiogate_reconciles_total")
                      .Help("Reconciles with what the kubelet remembers, by outcome")
                      .Register(registry_)),
      configurations_(prometheus::BuildCounter()
                          .Name("vfiogate_configurations_total")
                          .Help("Configuration files that privd posted, by outcome")
                          .Register(registry_)),
      allocates_(prometheus::BuildHistogram()
                     .Name("vfiogate_allocate_duration_seconds")
                     .Help("From the arrival of an Allocate to its answer")
                     .Register(registry_)) {}

void LedgerMetrics::count(const JournalEvent& event) {
  events_.Add({{"event", event.event}, {"reason", event.reason}}).Increment();
  if (event.event == "refused") refusals_.Add({{"reason", event.reason}}).Increment();
}

void LedgerMetrics::allocateAnswered(std::chrono::nanoseconds took, bool granted) {
  allocates_.Add({{"answer", granted ? "granted" : "refused"}}, kAllocateBuckets)
      .Observe(std::chrono::duration<double>(took).count());
}

void LedgerMetrics::reconcileEnded(bool proved) {
  reconciles_.Add({{"outcome", proved ? "proved" : "unproved"}}).Increment();
}

void LedgerMetrics::configurationPosted(bool sound) {
  configurations_.Add({{"outcome", sound ? "taken" : "refused"}}).Increment();
}

std::vector<prometheus::MetricFamily> LedgerMetrics::collect(
    const PluginStatus& status, const std::optional<DiscoveryCounts>& privd) const {
  auto families = registry_.Collect();
  for (prometheus::MetricFamily& gauge : gaugesOf(status)) families.push_back(std::move(gauge));
  if (!privd) return families;
  for (prometheus::MetricFamily& each : countersOf(*privd)) families.push_back(std::move(each));
  return families;
}

std::string LedgerMetrics::text(const PluginStatus& status,
                                const std::optional<DiscoveryCounts>& privd) const {
  return prometheus::TextSerializer().Serialize(collect(status, privd));
}

}  // namespace vfiogate
