#pragma once
// The state at one moment as gauges.

#include "plugind/core/status.h"

#include <prometheus/metric_family.h>

#include <vector>

namespace vfiogate {

std::vector<prometheus::MetricFamily> gaugesOf(const PluginStatus& status);

}  // namespace vfiogate
