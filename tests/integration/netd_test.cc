// `netd metrics` beside the real privd and plugind: what it tells, and that it says so when it
// cannot.

#include "ipc/socket/unix_socket.h"
#include "sim/base/process_status.h"
#include "tests/integration/netd_case.h"
#include "tests/support/sanitizers.h"

#include <gmock/gmock.h>

#include <kj/debug.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <regex>
#include <sstream>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Netd : public NetdCase {
protected:
  /// `plugind probe`; its exit code and what it said.
  std::pair<int, std::string> probe() {
    ChildProcess process({builtProgram("plugind"), "probe", "--timeout", "30000", "--listen",
                          node_->plugindSocket()},
                         filteredEnvironment());
    const std::string said = process.outputWhole();
    return {process.wait(), said};
  }

  /// The answer of netd when plugind, or who sits in its place, ends the connection in good order.
  HttpAnswer askOneThatHangsUp() {
    node_->killPlugind();
    auto listening =
        listenAt(node_->directory("plugind").c_str(), "plugind.sock", WhoMayConnect::kEverybody);
    EXPECT_TRUE(listening);
    HttpConnection connection(port());
    kj::Maybe<kj::AutoCloseFd> dialled;
    while (dialled == nullptr) {  // the news of before are good for a second
      connection.send(getRequest("/healthz"));
      connection.answer(std::chrono::milliseconds(200));
      dialled = acceptFrom(listening->get());
    }
    const int fd = KJ_ASSERT_NONNULL(dialled).get();
    std::array<char, 4096> question{};
    pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&asked, 1, 5000), 1);
    EXPECT_GT(recv(fd, question.data(), question.size(), 0), 0);
    shutdown(fd, SHUT_WR);
    return connection.answer(kPatience).value_or(HttpAnswer{});
  }
};

TEST_F(Netd, ServesPlugindsAndItsOwnMetricsInTheFormatOfPrometheus) {
  startAll();
  EXPECT_TRUE(node_->netd->says("event=started " + builtOf("netd"))) << node_->said();
  const auto has = [](const char* line) {
    return [line](const HttpAnswer& answer) { return answer.body.find(line) != std::string::npos; };
  };
  const HttpAnswer scrape = getUntil(
      "/metrics", has("vfiogate_resource_registered{resource=\"vfiogate.dev/10de_2684\"} 1\n"));
  ASSERT_EQ(scrape.code, 200) << scrape.body;
  EXPECT_THAT(scrape.head, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"));
  EXPECT_EQ(sampleIn(scrape.body, "vfiogate_privd_up"), 1);
  EXPECT_GE(sampleIn(scrape.body, "vfiogate_netd_connections"), 1);
  const std::regex line(
      "# (HELP|TYPE) (vfiogate|process)_[a-z_]+ .*|"
      "(vfiogate|process)_[a-z_]+(\\{([a-z]+=\"([^\"\\\\]|\\\\.)*\",?)+\\})? "
      "([-+0-9.e]+|\\+Inf|NaN)");
  std::istringstream lines(scrape.body);
  std::size_t count = 0;
  for (std::string text; std::getline(lines, text); ++count) {
    EXPECT_TRUE(std::regex_match(text, line)) << text;
  }
  EXPECT_GT(count, 50U);
}

TEST_F(Netd, IsReadyWhenPlugindServesEveryResourceAndSaysElseWhatIsMissing) {
  startNetd();
  const HttpAnswer alone = get("/readyz");
  EXPECT_EQ(alone.code, 503);
  EXPECT_THAT(alone.body, HasSubstr("cannot reach plugind at " + node_->plugindSocket()));
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  EXPECT_EQ(getUntil("/healthz", 200).body, "ok\n");
  EXPECT_EQ(get("/readyz").code, 503);
  EXPECT_EQ(get("/readyz").body, "privd is away\n");
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  // No kubelet yet, so nothing of its memory to read.
  EXPECT_THAT(
      getUntil("/readyz", [](const HttpAnswer& answer) { return answer.body.starts_with("not"); })
          .body,
      StartsWith("not adopted"));
  EXPECT_EQ(probe().first, 1);
  node_->kubelet.start();
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {"0000:01:00.0"})) << node_->said();
  // An Allocate makes plugind reconcile at once; without one it does so 30 s after the first frame.
  ASSERT_TRUE(node_->kubelet.admit(podOf("pod-1", kGpus)).admitted) << node_->said();
  const HttpAnswer ready = getUntil("/readyz", 200);
  EXPECT_EQ(ready.body, "ready: resources registered and streaming: 1\n") << node_->said();
  EXPECT_EQ(probe(), std::pair(0, ready.body));
  node_->killPrivd();
  EXPECT_EQ(getUntil("/readyz", 503).body, "privd is away\n");
  EXPECT_EQ(get("/healthz").code, 200);
  EXPECT_EQ(probe(), std::pair(1, std::string("not ready: privd is away\n")));
}

TEST_F(Netd, OutlivesPlugindAndFindsTheNextOne) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  node_->killPlugind();
  EXPECT_THAT(getUntil("/healthz", 503).body, HasSubstr("does not run"));
  const HttpAnswer alone = get("/metrics");
  EXPECT_EQ(alone.code, 200);
  EXPECT_EQ(sampleIn(alone.body, "vfiogate_plugind_up"), 0);
  EXPECT_THAT(alone.body, Not(HasSubstr("vfiogate_allocation_open")));
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  EXPECT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  EXPECT_EQ(sampleIn(get("/metrics").body, "vfiogate_plugind_up"), 1) << node_->said();
  EXPECT_TRUE(node_->netd->says("event=plugind_back"));
  EXPECT_EQ(node_->netd->count("event=plugind_away"), 1U) << "one line for many questions";
}

TEST_F(Netd, SaysWithinItsTimeThatPlugindDoesNotAnswer) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200);
  node_->plugind->signal(SIGSTOP);
  const HttpAnswer stopped = getUntil("/healthz", 503);
  EXPECT_THAT(stopped.body, HasSubstr("does not answer within 2 s"));
  node_->plugind->signal(SIGCONT);
  EXPECT_EQ(getUntil("/healthz", 200).code, 200);
}

TEST_F(Netd, AsksPlugindOnceASecondWhoeverAsks) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  const std::string asked = "vfiogate_netd_plugind_questions_total{outcome=\"answered\"}";
  const double before = sampleIn(get("/metrics").body, asked);
  const auto began = std::chrono::steady_clock::now();
  HttpConnection connection(port());
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(connection.send(getRequest("/metrics")));
    const auto answer = connection.answer(kPatience);
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->code, 200);
  }
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::string after = get("/metrics").body;
  EXPECT_LE(sampleIn(after, asked) - before, elapsed + 2);
  EXPECT_GE(sampleIn(after, "vfiogate_netd_cached_answers_total"), 490 - elapsed);
}

TEST_F(Netd, RefusesWhatItDoesNotServe) {
  startAll();
  EXPECT_EQ(get("/").code, 404);
  EXPECT_EQ(get("/debug/pprof").code, 404);
  struct Row {
    const char* request;
    int code;
    bool hasBody;
  };
  for (const auto& [request, code, hasBody] :
       {Row{"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405, true},
        Row{"DELETE /readyz HTTP/1.1\r\n\r\n", 405, true},
        Row{"GET /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", 413, true},
        Row{"BREW /metrics HTTP/1.1\r\n\r\n", 501, true},
        Row{"HEAD /healthz HTTP/1.1\r\n\r\n", 200, false}}) {
    HttpConnection connection(port());
    ASSERT_TRUE(connection.send(request));
    const auto answer = connection.answer(kPatience, hasBody);
    ASSERT_TRUE(answer) << request;
    EXPECT_EQ(answer->code, code) << request;
  }
}

TEST_F(Netd, HangsUpAfterTheAnswerWhereTheClientWantsIt) {
  startAll();
  HttpConnection connection(port());
  ASSERT_TRUE(connection.send("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(connection.answer(kPatience));
  EXPECT_TRUE(connection.hungUp(std::chrono::seconds(2)));
}

TEST_F(Netd, IsNobodyWithoutAnyPowerAndHoldsNoFile) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200);
  const pid_t pid = node_->netd->pid();
  EXPECT_THAT(lockdownFaults(pid), IsEmpty());
  EXPECT_THAT(identityFaults(pid, kNetdUid), IsEmpty());
  EXPECT_EQ(threadStatuses(pid).size(), 1U);
  EXPECT_THAT(descriptorsOfKind(pid, {S_IFREG, S_IFDIR, S_IFCHR}), IsEmpty());
  node_->netd->signal(SIGTERM);
  EXPECT_EQ(node_->netd->wait(), 0) << node_->netd->output();
}

// Its filter taken out, and each call compared with the table.
TEST_F(Netd, NeedsEveryRowOfItsTableThatIsNotDefensiveAndNoOther) {
  const std::string tracer = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  node_->netd.emplace(std::vector<std::string>{tracer + "/trace_calls", "netd-metrics",
                                               builtProgram("netd"), "metrics", "--listen",
                                               "127.0.0.1:0", "--plugind", node_->plugindSocket()},
                      filteredEnvironment());
  ASSERT_TRUE(node_->netd->says("event=started")) << node_->said();
  EXPECT_EQ(get("/healthz").code, 503);  // nobody to dial: a line on the log
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  EXPECT_EQ(getUntil("/healthz", 200).code, 200);
  EXPECT_EQ(get("/metrics").code, 200);
  EXPECT_EQ(get("/elsewhere").code, 404);
  EXPECT_THAT(askOneThatHangsUp().body, HasSubstr("plugind hung up"));
  node_->netd->signal(SIGTERM);
  EXPECT_EQ(node_->netd->wait(), 0) << "a call without a row";
  const std::string tally = node_->netd->outputWhole();
  EXPECT_THAT(tally, HasSubstr("epoll_wait"));
  if (kWatchesThreads) GTEST_SKIP() << "ThreadSanitizer waits in ways of its own";
  EXPECT_THAT(tally, Not(HasSubstr("UNUSED"))) << tally;
}

TEST_F(Netd, ThatIsNotStartedAsRootSaysSoAndStaysWhoItIs) {
  node_->netd.emplace(
      std::vector<std::string>{"/usr/bin/setpriv", "--reuid=1234", "--regid=1234", "--clear-groups",
                               builtProgram("netd"), "metrics", "--listen", "127.0.0.1:0"},
      filteredEnvironment());
  ASSERT_TRUE(node_->netd->says("event=started")) << node_->said();
  EXPECT_THAT(node_->netd->output(), HasSubstr("event=not_root uid=1234 wanted_uid=64533"));
  EXPECT_THAT(identityFaults(node_->netd->pid(), 1234), IsEmpty());
}

TEST_F(Netd, SaysWhyItCannotStart) {
  startNetd();
  const std::string taken = "127.0.0.1:" + std::to_string(port());
  ChildProcess second({builtProgram("netd"), "metrics", "--listen", taken}, filteredEnvironment());
  const std::string said = second.outputWhole();
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(said, HasSubstr("another program listens there: choose another --listen"));
}

}  // namespace
}  // namespace vfiogate::test
