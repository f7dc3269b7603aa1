#pragma once
// What netd counts itself, in the text format of Prometheus. The naming rule is that of
// plugind/metrics, but for process_*, which Prometheus expects of whoever answers it;
// docs/metrics.md has them all, a test compares.

#include "ipc/base/build_info.h"
#include "rootless/process_figures.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// The loop's thread only.
class NetdCounters {
public:
  /// `build`: of this program, which is told, too.
  explicit NetdCounters(const BuildInfo& build = {});

  /// `place`: one of a few, never a client's text.
  void answered(std::string_view place, unsigned code);
  void connectionOpened();
  void connectionClosed();
  /// Closed for a newcomer, because there were as many as there may be.
  void connectionDisplaced();
  /// A client broke off, or broke a limit, in a way that got no answer of its own.
  void connectionBroken();
  /// A request took what plugind was, or is being, asked already.
  void cached();
  /// `sound`: it answered, and netd is to say that it is up.
  void plugindAnswered(bool sound);

  std::vector<prometheus::MetricFamily> collect() const;
  std::string text() const;

private:
  const ProcessFigures process_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Counter& connections_;
  prometheus::Gauge& open_;
  prometheus::Gauge& plugindUp_;
  prometheus::Counter& displaced_;
  prometheus::Counter& broken_;
  prometheus::Counter& cached_;
  prometheus::Family<prometheus::Counter>& questions_;
};

}  // namespace vfiogate
