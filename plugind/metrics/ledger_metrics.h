#pragma once
// What plugind counts, in the text format of Prometheus.
//
// Naming rule: vfiogate_<what>[_<unit>][_total]; units are seconds and bytes; counters and nothing
// else end in _total. Labels have few values: resources, states, reason codes; never a device, a
// pod or text from outside. Each series whose labels are known beforehand is there from the start,
// with zero: a series that appears later hides its first increment. docs/metrics.md has them all;
// a test compares.
// The state at one moment as gauges.

#include "ipc/types/discovery_counts.h"
#include "plugind/core/ledger/state/effects.h"
#include "plugind/core/status/status.h"
#include "rootless/process_figures.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <chrono>
#include <string>
#include <vector>

namespace vfiogate {

/// The loop's thread only.
class LedgerMetrics {
public:
  LedgerMetrics();

  void count(const JournalEvent& event);
  /// From an Allocate's arrival to its answer.
  void allocateAnswered(std::chrono::nanoseconds took, bool granted);
  void reconcileEnded(bool proved);
  void configurationPosted(bool sound);

  /// All that was counted, and the state as gauges. `privd`: what privd told last that it counted.
  std::vector<prometheus::MetricFamily> collect(const PluginStatus& status,
                                                const DiscoveryCounts& privd) const;
  std::string text(const PluginStatus& status, const DiscoveryCounts& privd) const;

private:
  const ProcessFigures process_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& events_;
  prometheus::Family<prometheus::Counter>& refusals_;
  prometheus::Family<prometheus::Counter>& guards_;
  prometheus::Family<prometheus::Counter>& binds_;
  prometheus::Family<prometheus::Counter>& reconciles_;
  prometheus::Family<prometheus::Counter>& configurations_;
  prometheus::Family<prometheus::Histogram>& allocates_;
};

std::vector<prometheus::MetricFamily> gaugesOf(const PluginStatus& status);

/// What this process costs.
std::vector<prometheus::MetricFamily> figuresOf(const ProcessFigures& process);

/// What privd counts, passed on.
std::vector<prometheus::MetricFamily> countersOf(const DiscoveryCounts& counts);

}  // namespace vfiogate
