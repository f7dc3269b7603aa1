#include "plugind/metrics/ledger_metrics.h"

#include "plugind/core/bind_outcome.h"
#include "plugind/core/status/known_codes.h"

#include <prometheus/text_serializer.h>

#include <array>
#include <iterator>

namespace vfiogate {
namespace {

/// An Allocate has 2 s; what privd answers at once takes less than a millisecond.
const prometheus::Histogram::BucketBoundaries kAllocateBuckets{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 2};

constexpr std::array kBindAnswers{BindOutcome::Answer::kDone,     BindOutcome::Answer::kRefused,
                                  BindOutcome::Answer::kFailed,   BindOutcome::Answer::kStuck,
                                  BindOutcome::Answer::kVanished, BindOutcome::Answer::kDenied,
                                  BindOutcome::Answer::kPrivdAway};

void append(std::vector<prometheus::MetricFamily>& to, std::vector<prometheus::MetricFamily> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

}  // namespace

LedgerMetrics::LedgerMetrics()
    : events_(prometheus::BuildCounter()
                  .Name("vfiogate_ledger_events_total")
                  .Help("Lines of the journal, by event")
                  .Register(registry_)),
      refusals_(prometheus::BuildCounter()
                    .Name("vfiogate_refusals_total")
                    .Help("Requests of the kubelet that were refused, by reason code")
                    .Register(registry_)),
      guards_(prometheus::BuildCounter()
                  .Name("vfiogate_guard_refusals_total")
                  .Help("Times that a guard of privd's withheld devices or refused a request")
                  .Register(registry_)),
      binds_(prometheus::BuildCounter()
                 .Name("vfiogate_binds_total")
                 .Help("Groups that were to be bound for an allocation, by outcome")
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
                     .Register(registry_)) {
  for (const std::string& event : knownJournalEvents()) events_.Add({{"event", event}});
  for (const std::string& reason : knownRefusals()) refusals_.Add({{"reason", reason}});
  for (unsigned guard = 0; guard < kGuards; ++guard) {
    guards_.Add({{"guard", std::string(nameOf(static_cast<Guard>(guard)))}});
  }
  for (const BindOutcome::Answer answer : kBindAnswers) {
    binds_.Add({{"outcome", std::string(nameOf(answer))}});
  }
  for (const char* outcome : {"proved", "unproved"}) reconciles_.Add({{"outcome", outcome}});
  for (const char* outcome : {"taken", "refused"}) configurations_.Add({{"outcome", outcome}});
  for (const char* answer : {"granted", "refused"}) {
    allocates_.Add({{"answer", answer}}, kAllocateBuckets);
  }
}

void LedgerMetrics::count(const JournalEvent& event) {
  events_.Add({{"event", event.event}}).Increment();
  const bool refused = event.event == "refused";
  if (refused) refusals_.Add({{"reason", headOf(event.reason)}}).Increment();
  if (refused || event.event == "withheld") {
    if (const auto guard = guardIn(event.reason)) {
      guards_.Add({{"guard", std::string(nameOf(*guard))}}).Increment();
    }
  }
  if (event.event == "bound") binds_.Add({{"outcome", "done"}}).Increment();
  if (event.event == "bind-failed") binds_.Add({{"outcome", event.reason}}).Increment();
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

std::vector<prometheus::MetricFamily> LedgerMetrics::collect(const PluginStatus& status,
                                                             const DiscoveryCounts& privd) const {
  auto families = registry_.Collect();
  append(families, gaugesOf(status));
  append(families, figuresOf(process_));
  append(families, countersOf(privd));
  return families;
}

std::string LedgerMetrics::text(const PluginStatus& status, const DiscoveryCounts& privd) const {
  return prometheus::TextSerializer().Serialize(collect(status, privd));
}

}  // namespace vfiogate
