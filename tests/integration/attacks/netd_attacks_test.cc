// Clients of netd that mean no good: it and plugind stay as they were, and a scrape gets through.

#include "sim/base/process_status.h"
#include "tests/integration/netd_case.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/process_size.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <list>
#include <memory>
#include <random>

namespace vfiogate::test {
namespace {

using std::chrono::seconds;
#ifdef VFIOGATE_SANITIZED
constexpr seconds kForAScrape{5};
#else
constexpr seconds kForAScrape{1};
#endif
using Connections = std::list<HttpConnection>;

/// Does its worst and returns what it keeps open meanwhile.
using Attack = std::function<Connections(std::uint16_t port)>;

Connections sendsByteByByte(std::uint16_t port) {
  Connections open;
  const std::string request = getRequest("/metrics");
  for (int i = 0; i < 60; ++i) open.emplace_back(port);
  for (const char byte : request.substr(0, request.size() - 1)) {
    for (HttpConnection& connection : open) connection.send({&byte, 1});
  }
  return open;
}

Connections sendsHugeHeads(std::uint16_t port) {
  Connections open;
  const std::string head = "GET /metrics HTTP/1.1\r\nX: " + std::string(1 << 20, 'x');
  for (int i = 0; i < 100; ++i) open.emplace_back(port).send(head);
  return open;
}

Connections pipelinesAndDoesNotRead(std::uint16_t port) {
  Connections open;
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += getRequest("/metrics");
  for (int i = 0; i < 20; ++i) open.emplace_back(port).send(requests);
  return open;
}

Connections sendsGarbage(std::uint16_t port) {
  Connections open;
  std::mt19937 random(4711);  // always the same garbage
  std::uniform_int_distribution<int> byte(0, 255);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(1000, '\0');
    for (char& each : bytes) each = static_cast<char>(byte(random));
    if (i % 2 == 1) bytes.replace(0, 5, "GET /");
    open.emplace_back(port).send(bytes + "\r\n\r\n");
  }
  return open;
}

Connections connectsAThousandTimes(std::uint16_t port) {
  Connections open;
  for (int i = 0; i < 1000; ++i) open.emplace_back(port);
  return open;
}

struct NamedAttack {
  const char* name;
  Attack attack;
};
void PrintTo(const NamedAttack& row, std::ostream* out) {
  *out << row.name;
}

class NetdUnderAttack : public NetdCase, public testing::WithParamInterface<NamedAttack> {
protected:
  struct Sizes {
    ProcessSize netd;
    ProcessSize plugind;

    std::string str() const { return "netd " + netd.str() + ", plugind " + plugind.str(); }
  };

  /// With nobody there but the one who asks until it is alone.
  Sizes atRest() {
    HttpConnection own(port());
    const auto end = std::chrono::steady_clock::now() + kPatience;
    double open = 0;
    while (open != 1 && std::chrono::steady_clock::now() < end) {
      poll(nullptr, 0, 20);
      EXPECT_TRUE(own.send(getRequest("/metrics")));
      open =
          sampleIn(own.answer(kPatience).value_or(HttpAnswer{}).body, "vfiogate_netd_connections");
    }
    EXPECT_EQ(open, 1) << "connections that were left";
    return {sizeOf(node_->netd->pid()), sizeOf(node_->plugind->pid())};
  }
};

INSTANTIATE_TEST_SUITE_P(All, NetdUnderAttack,
                         testing::Values(NamedAttack{"BytesOneByOne", sendsByteByByte},
                                         NamedAttack{"HugeHeads", sendsHugeHeads},
                                         NamedAttack{"PipelinedUnread", pipelinesAndDoesNotRead},
                                         NamedAttack{"Garbage", sendsGarbage},
                                         NamedAttack{"AThousandConnections",
                                                     connectsAThousandTimes}),
                         [](const auto& row) { return std::string(row.param.name); });

// I10, for HTTP.
TEST_P(NetdUnderAttack, ServesOthersWithinASecondAndStaysAsItWas) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  GetParam().attack(port());  // what a first time costs is no growth
  const Sizes before = atRest();
  for (int round = 0; round < 3; ++round) {
    const Connections open = GetParam().attack(port());
    const auto began = std::chrono::steady_clock::now();
    const auto scrape = httpGet(port(), "/metrics", kPatience);
    ASSERT_TRUE(scrape) << "round " << round << ": displaced\n" << node_->said();
    EXPECT_EQ(scrape->code, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - began, kForAScrape) << "round " << round;
    const ProcessSize meanwhile = sizeOf(node_->netd->pid());
    EXPECT_LT(meanwhile.descriptors, before.netd.descriptors + 64 + 8) << meanwhile.str();
    if (kOwnAllocator) {
      EXPECT_LT(meanwhile.residentKib, before.netd.residentKib + std::size_t{16} * 1024)
          << meanwhile.str();
    }
  }
  const ThreadStatus status = threadStatuses(node_->netd->pid()).begin()->second;
  std::printf("netd metrics: VmData %s, VmHWM %s\n", status.at("VmData").c_str(),
              status.at("VmHWM").c_str());
  const Sizes after = atRest();
  EXPECT_EQ(after.netd.descriptors, before.netd.descriptors) << after.str();
  EXPECT_LE(after.plugind.descriptors, before.plugind.descriptors + 1) << after.str();
  if (kOwnAllocator) {
    EXPECT_LT(after.netd.residentKib, before.netd.residentKib + 1024) << before.str() << "\n"
                                                                      << after.str();
    EXPECT_LT(after.plugind.residentKib, before.plugind.residentKib + 1024) << before.str() << "\n"
                                                                            << after.str();
  }
  EXPECT_EQ(after.netd.threads, 1U);
}

class NetdLimits : public NetdCase {
protected:
  /// Connections that netd took so far, asked over `scraper`; 0: it was hung up on.
  double taken(HttpConnection& scraper) {
    const bool sent = scraper.send(getRequest("/metrics"));
    const auto answer = sent ? scraper.answer(seconds(5)) : std::nullopt;
    EXPECT_TRUE(answer) << "displaced";
    return answer ? sampleIn(answer->body, "vfiogate_netd_connections_total") : 0;
  }
};

TEST_F(NetdLimits, ASlowSenderIsHungUpOnAfterFiveSeconds) {
  startAll();
  HttpConnection slow(port());
  ASSERT_TRUE(slow.send("GET /met"));
  EXPECT_FALSE(slow.hungUp(seconds(3)));
  EXPECT_TRUE(slow.hungUp(seconds(10)));
}

TEST_F(NetdLimits, AHeadIsTakenUpTo16KiB) {
  startAll();
  const auto withHeadOf = [](std::size_t size) {
    return "GET /elsewhere HTTP/1.1\r\nX: " + std::string(size, 'x') + "\r\n\r\n";
  };
  HttpConnection connection(port());
  for (int i = 0; i < 3; ++i) {  // each has its own
    ASSERT_TRUE(connection.send(withHeadOf(16'000)));
    ASSERT_TRUE(connection.answer(kPatience)) << i;
  }
  connection.send(withHeadOf(16'400));
  EXPECT_FALSE(connection.answer(seconds(2)));
  EXPECT_TRUE(connection.hungUp(seconds(2)));
  EXPECT_EQ(sampleIn(getUntil("/metrics", 200).body, "vfiogate_netd_connections_broken_total"), 1);
}

TEST_F(NetdLimits, AThousandRequestsInARowAreAnsweredInOrder) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += getRequest(i % 2 == 0 ? "/healthz" : "/elsewhere");
  HttpConnection connection(port());
  ASSERT_TRUE(connection.send(requests));
  for (int i = 0; i < 1000; ++i) {
    const auto answer = connection.answer(kPatience);
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->code, i % 2 == 0 ? 200 : 404) << i;
  }
}

TEST_F(NetdLimits, AConnectionThatScrapesIsNotDisplacedByThoseThatSayNothing) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  HttpConnection scraper(port());
  Connections silent;
  const double before = taken(scraper);
  ASSERT_GT(before, 0);
  for (int i = 1; i <= 300; ++i) {
    silent.emplace_back(port());
    // While it waits until all of them were taken it comes forward itself.
    const bool asks = i % 30 == 0;
    while (asks && taken(scraper) < before + i) ASSERT_FALSE(HasFailure()) << "after " << i;
  }
  const std::string scrape = get("/metrics").body;
  EXPECT_GE(sampleIn(scrape, "vfiogate_netd_connections_displaced_total"), 300 - 64);
  EXPECT_LE(sampleIn(scrape, "vfiogate_netd_connections"), 64 + 8);
}

}  // namespace
}  // namespace vfiogate::test
