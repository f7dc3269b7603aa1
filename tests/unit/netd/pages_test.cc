#include "netd/metrics/pages.h"

#include <gmock/gmock.h>

#include <utility>

namespace vfiogate {
namespace {

const PlugindAnswer kReadyNews = PlugindNews{"metric 1\n", true, "ready: all of it"};
const PlugindAnswer kUnreadyNews = PlugindNews{"metric 0\n", false, "privd is away"};
const PlugindAnswer kNoAnswer = Failure{std::string("plugind hangs")};

TEST(PlaceOf, TakesAPathWithOrWithoutAQuery) {
  EXPECT_EQ(placeOf("/metrics"), Place::kMetrics);
  EXPECT_EQ(placeOf("/metrics?name[]=x"), Place::kMetrics);
  EXPECT_EQ(placeOf("/healthz?"), Place::kHealth);
  EXPECT_EQ(placeOf("/readyz"), Place::kReady);
  for (const char* target : {"", "/", "?", "*", "/metrics/", "//metrics", "/METRICS", "/metricsx",
                             "http://node/metrics", "/readyz%00"}) {
    EXPECT_EQ(placeOf(target), Place::kElsewhere) << target;
  }
}

TEST(NameOf, IsOneOfAFewLabels) {
  EXPECT_EQ(nameOf(Place::kMetrics), "/metrics");
  EXPECT_EQ(nameOf(Place::kHealth), "/healthz");
  EXPECT_EQ(nameOf(Place::kReady), "/readyz");
  EXPECT_EQ(nameOf(Place::kElsewhere), "other");
}

struct Refused {
  Asked asked;
  unsigned code;  ///< 0: not refused
};

TEST(RefusalOf, GoesAsTheTableSays) {
  for (const auto& [asked, code] :
       {Refused{{Place::kMetrics, true, false}, 0}, Refused{{Place::kHealth, true, false}, 0},
        Refused{{Place::kReady, true, false}, 0}, Refused{{Place::kElsewhere, true, false}, 404},
        Refused{{Place::kElsewhere, false, true}, 404},
        Refused{{Place::kMetrics, false, false}, 405}, Refused{{Place::kReady, false, true}, 405},
        Refused{{Place::kMetrics, true, true}, 413}}) {
    const auto refusal = refusalOf(asked);
    EXPECT_EQ(refusal ? refusal->code : 0, code) << nameOf(asked.place);
  }
}

struct Shown {
  Place place;
  const PlugindAnswer& answer;
  unsigned code;
  const char* body;
};

TEST(PageFor, GoesAsTheTableSays) {
  for (const auto& [place, answer, code, body] :
       {Shown{Place::kMetrics, kReadyNews, 200, "metric 1\nown 5\n"},
        Shown{Place::kMetrics, kUnreadyNews, 200, "metric 0\nown 5\n"},
        Shown{Place::kMetrics, kNoAnswer, 200, "own 5\n"},
        Shown{Place::kHealth, kReadyNews, 200, "ok\n"},
        Shown{Place::kHealth, kUnreadyNews, 200, "ok\n"},
        Shown{Place::kHealth, kNoAnswer, 503, "plugind hangs\n"},
        Shown{Place::kReady, kReadyNews, 200, "ready: all of it\n"},
        Shown{Place::kReady, kUnreadyNews, 503, "privd is away\n"},
        Shown{Place::kReady, kNoAnswer, 503, "plugind hangs\n"}}) {
    const Page page = pageFor(place, answer, "own 5\n");
    EXPECT_EQ(page.code, code) << nameOf(place);
    EXPECT_EQ(page.body, body) << nameOf(place);
  }
}

TEST(PageFor, MetricsHaveTheContentTypeOfPrometheusAndFailuresHaveNot) {
  for (const PlugindAnswer* answer : {&kReadyNews, &kNoAnswer}) {
    EXPECT_STREQ(pageFor(Place::kMetrics, *answer, "").type,
                 "text/plain; version=0.0.4; charset=utf-8");
  }
  EXPECT_STREQ(pageFor(Place::kReady, kNoAnswer, "").type, "text/plain; charset=utf-8");
}

}  // namespace
}  // namespace vfiogate
