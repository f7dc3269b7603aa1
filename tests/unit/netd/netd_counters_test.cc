#include "netd/metrics/netd_counters.h"

#include "tests/support/seen/source_file.h"

#include <gmock/gmock.h>

#include <regex>

namespace vfiogate {
namespace {

using testing::HasSubstr;

void countSome(NetdCounters& counters) {
  counters.answered("/metrics", 200);
  counters.answered("/metrics", 200);
  counters.answered("other", 404);
  for (int i = 0; i < 3; ++i) counters.connectionOpened();
  counters.connectionClosed();
  counters.connectionDisplaced();
  counters.connectionBroken();
  counters.cached();
  counters.plugindAnswered(false);
}

TEST(NetdCounters, CountWhatHappened) {
  NetdCounters counters(BuildInfo{"1.2.3", "c0ffee", "2026-02-03T04:05:06Z"});
  countSome(counters);
  const std::string text = counters.text();
  for (const char* line :
       {"vfiogate_netd_requests_total{code=\"200\",path=\"/metrics\"} 2",
        "vfiogate_netd_requests_total{code=\"404\",path=\"other\"} 1",
        "vfiogate_netd_connections_total 3", "vfiogate_netd_connections 2",
        "vfiogate_netd_connections_displaced_total 1", "vfiogate_netd_connections_broken_total 1",
        "vfiogate_netd_cached_answers_total 1",
        (R"(vfiogate_netd_build_info{commit="c0ffee",date="2026-02-03T04:05:06Z",)"
         R"(version="1.2.3"} 1)"),
        "vfiogate_netd_plugind_questions_total{outcome=\"failed\"} 1",
        "vfiogate_netd_plugind_questions_total{outcome=\"answered\"} 0"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(NetdCounters, SayWhetherPlugindAnsweredTheLastQuestion) {
  NetdCounters counters;
  EXPECT_THAT(counters.text(), HasSubstr("vfiogate_plugind_up 0\n"));
  counters.plugindAnswered(true);
  EXPECT_THAT(counters.text(), HasSubstr("vfiogate_plugind_up 1\n"));
  counters.plugindAnswered(false);
  EXPECT_THAT(counters.text(), HasSubstr("vfiogate_plugind_up 0\n"));
}

std::size_t seriesOf(const NetdCounters& counters) {
  std::size_t series = 0;
  for (const prometheus::MetricFamily& family : counters.collect()) series += family.metric.size();
  return series;
}

TEST(NetdCounters, AreAllThereFromTheStart) {
  NetdCounters counters;
  const std::size_t before = seriesOf(counters);
  countSome(counters);
  EXPECT_EQ(seriesOf(counters), before);
}

TEST(NetdCounters, FollowTheNamingRuleAndAreDocumented) {
  const std::string page = test::sourceText("docs/metrics.md");
  const std::regex rule("(vfiogate_netd|vfiogate_plugind|process)(_[a-z]+)+");
  NetdCounters counters;
  countSome(counters);
  const auto families = counters.collect();
  ASSERT_EQ(families.size(), 12U);
  for (const prometheus::MetricFamily& family : families) {
    EXPECT_TRUE(std::regex_match(family.name, rule)) << family.name;
    EXPECT_EQ(family.name.ends_with("_total"), family.type == prometheus::MetricType::Counter)
        << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_THAT(page, HasSubstr("`" + family.name + "`")) << "not in docs/metrics.md";
  }
}

}  // namespace
}  // namespace vfiogate
