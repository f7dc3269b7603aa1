#pragma once
// The state at one moment as gauges.

#include "plugind/core/status/status.h"

#include <prometheus/metric_family.h>

#include <vector>

namespace vfiogate {

std::vector<prometheus::MetricFamily> gaugesOf(const PluginStatus& status);

/// What privd counts, passed on.
std::vector<prometheus::MetricFamily> countersOf(const DiscoveryCounts& counts);

}  // namespace vfiogate
