#include "netd/metrics/netd_counters.h"

#include <prometheus/text_serializer.h>

namespace vfiogate {
namespace {

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
}

std::string NetdCounters::text() const {
  return prometheus::TextSerializer().Serialize(collect());
}

}  // namespace vfiogate
