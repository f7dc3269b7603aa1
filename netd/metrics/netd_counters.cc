#include "netd/metrics/netd_counters.h"

#include <prometheus/text_serializer.h>

#include <array>
#include <utility>

namespace vfiogate {
namespace {

/// What may be answered; a target that is none of ours, or no request at all, is "other".
struct Answered {
  const char* place;
  std::vector<unsigned> codes;
};
const std::array<Answered, 4> kAnswers{{{"/metrics", {200, 405, 413}},
                                        {"/healthz", {200, 405, 413, 503}},
                                        {"/readyz", {200, 405, 413, 503}},
                                        {"other", {400, 404, 500, 501}}}};

prometheus::MetricFamily figure(const char* name, const char* help, double value) {
  const bool counts = std::string_view(name).ends_with("_total");
  prometheus::ClientMetric metric;
  (counts ? metric.counter.value : metric.gauge.value) = value;
  const auto type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  return {name, help, type, {metric}};
}

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

NetdCounters::NetdCounters(const BuildInfo& build)
    : requests_(prometheus::BuildCounter()
                    .Name("vfiogate_netd_requests_total")
                    .Help("Requests over HTTP that were answered, by path and status code")
                    .Register(registry_)),
      connections_(
          counter(registry_, "vfiogate_netd_connections_total", "Connections that were taken")),
      open_(prometheus::BuildGauge()
                .Name("vfiogate_netd_connections")
                .Help("Connections that are open")
                .Register(registry_)
                .Add({})),
      plugindUp_(prometheus::BuildGauge()
                     .Name("vfiogate_plugind_up")
                     .Help("1: plugind answered the last question; 0: only netd's own are here")
                     .Register(registry_)
                     .Add({})),
      displaced_(counter(registry_, "vfiogate_netd_connections_displaced_total",
                         "Connections that were closed for a newcomer, the idlest first")),
      broken_(counter(registry_, "vfiogate_netd_connections_broken_total",
                      "Connections that ended amid a request, such as with too large a head")),
      cached_(counter(registry_, "vfiogate_netd_cached_answers_total",
                      "Requests for which plugind was not asked anew")),
      questions_(prometheus::BuildCounter()
                     .Name("vfiogate_netd_plugind_questions_total")
                     .Help("Questions to plugind, by outcome")
                     .Register(registry_)) {
  prometheus::BuildGauge()
      .Name("vfiogate_netd_build_info")
      .Help("1: what netd was built of")
      .Register(registry_)
      .Add({{"version", std::string(build.version)},
            {"commit", std::string(build.commit)},
            {"date", std::string(build.date)}})
      .Set(1);
  // From the first scrape on: a series that appears later hides its first increment.
  for (const char* outcome : {"answered", "failed"}) questions_.Add({{"outcome", outcome}});
  for (const auto& [place, codes] : kAnswers) {
    for (const unsigned code : codes) {
      requests_.Add({{"path", place}, {"code", std::to_string(code)}});
    }
  }
}

std::vector<prometheus::MetricFamily> NetdCounters::collect() const {
  auto families = registry_.Collect();
  families.push_back(figure("process_start_time_seconds", "When netd started, since 1970",
                            process_.startSeconds()));
  families.push_back(
      figure("process_cpu_seconds_total", "Processor time of netd", ProcessFigures::cpuSeconds()));
  families.push_back(figure("process_heap_bytes", "Memory that netd's code has allocated",
                            ProcessFigures::heapBytes()));
  return families;
}

void NetdCounters::answered(std::string_view place, unsigned code) {
  requests_.Add({{"path", std::string(place)}, {"code", std::to_string(code)}}).Increment();
}

void NetdCounters::connectionOpened() {
  connections_.Increment();
  open_.Increment();
}

void NetdCounters::connectionClosed() {
  open_.Decrement();
}

void NetdCounters::connectionDisplaced() {
  displaced_.Increment();
}

void NetdCounters::connectionBroken() {
  broken_.Increment();
}

void NetdCounters::cached() {
  cached_.Increment();
}

void NetdCounters::plugindAnswered(bool sound) {
  questions_.Add({{"outcome", sound ? "answered" : "failed"}}).Increment();
  plugindUp_.Set(sound ? 1 : 0);
}

std::string NetdCounters::text() const {
  return prometheus::TextSerializer().Serialize(collect());
}

}  // namespace vfiogate
