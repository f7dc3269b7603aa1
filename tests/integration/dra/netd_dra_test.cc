// `netd dra`, locked down, between a stand-in API server over TLS and a stand-in plugind.

#include "ipc/api/api_codec.h"
#include "sim/base/child_process.h"
#include "sim/base/process_status.h"
#include "sim/base/temp_dir.h"
#include "tests/support/played/api_server.h"
#include "tests/support/played/control_stand_in.h"
#include "tests/support/sanitizers.h"
#include "tests/support/test_certificates.h"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <variant>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDriver = "vfio.vfiogate.dev";
constexpr uid_t kNetdUser = 64533;

class NetdDraTest : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~NetdDraTest() noexcept override = default;

protected:
  void SetUp() override {
    // netd becomes another user.
    chmod(dir_.path().c_str(), 0755);
    certificates_ = makeCertificates(dir_.path() / "pki");
    std::ofstream(dir_ / "token") << "one";
    std::ofstream(dir_ / "known-1") << "one";
    std::ofstream(dir_ / "known-2") << "two";
    server_ = std::make_unique<ApiServer>(ApiServerOptions{
        certificates_.certificate, certificates_.key, {dir_ / "known-1", dir_ / "known-2"}});
  }

  void startControl(const std::string& driver = kDriver) {
    control_ = std::make_unique<ControlStandIn>(io_, dir_.path(), driver);
  }
  void startNetd(std::vector<std::string> starter = {}) {
    for (const std::string& word :
         {builtProgram("netd"), std::string("dra"), std::string("--plugind"), dir_ / "plugind.sock",
          std::string("--api-server"), server_->url(), std::string("--token"), dir_ / "token",
          std::string("--ca"), certificates_.ca, std::string("--node"), std::string("node-1")}) {
      starter.push_back(word);
    }
    netd_ = std::make_unique<ChildProcess>(starter, filteredEnvironment());
    ASSERT_TRUE(netd_->says("event=started")) << netd_->output();
  }
  void startAll() {
    startControl();
    startNetd();
    control_->awaitAttached();
  }
  void replaceToken(const std::string& text) {
    std::ofstream(dir_ / "new") << text;
    std::filesystem::rename(dir_ / "new", dir_ / "token");
  }
  /// To the API server, in whichever request.
  std::set<std::string> tokensTold() {
    std::set<std::string> told;
    for (const json& entry : server_->journal()) told.insert(entry.at("token"));
    return told;
  }
  std::string endsWell() {
    netd_->signal(SIGTERM);
    const int code = netd_->wait();
    return code == 0 ? "" : "code " + std::to_string(code) + "\n" + netd_->output();
  }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  TestCertificates certificates_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<ControlStandIn> control_;
  std::unique_ptr<ChildProcess> netd_;
};

TEST_F(NetdDraTest, AnswersWhatTheClaimIs) {
  startAll();
  EXPECT_EQ(control_->node(), "node-1");
  EXPECT_TRUE(netd_->says("event=started " + builtOf("netd"))) << netd_->output();
  EXPECT_TRUE(netd_->says("event=attached")) << netd_->output();
  const json config = json::array({{{"source", "FromClaim"},
                                    {"requests", json::array()},
                                    {"opaque",
                                     {{"driver", kDriver},
                                      {"parameters",
                                       {{"apiVersion", "vfio.vfiogate.dev/v1alpha1"},
                                        {"kind", "DeviceConfig"},
                                        {"vfio", "iommufd"}}}}}}});
  const std::string uid =
      server_->makeClaim("c", kDriver, {{.device = "0000-01-00-0", .request = "main/sub"}}, config);
  const auto answer = control_->claim(kDriver, "c");
  ASSERT_TRUE(std::holds_alternative<AllocatedClaim>(answer));
  AllocatedClaim wanted{uid, true, "", {{"main/sub", "node-1", "0000-01-00-0"}}};
  wanted.devices[0].parameters.vfio = Backend::kIommufd;
  EXPECT_EQ(std::get<AllocatedClaim>(answer), wanted);
  EXPECT_TRUE(std::get<AllocatedClaim>(control_->claim("other.example.com", "c")).devices.empty());
  EXPECT_TRUE(std::holds_alternative<ClaimGone>(control_->claim(kDriver, "d")));
  EXPECT_TRUE(std::holds_alternative<ClaimUnread>(control_->claim(kDriver, "../d")));
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, OverPlainHttpTheTokenIsToldToNobody) {
  startAll();
  EXPECT_TRUE(std::holds_alternative<ClaimGone>(control_->claim(kDriver, "c")));
  EXPECT_EQ(tokensTold(), std::set<std::string>{"one"});
  EXPECT_EQ(endsWell(), "");
  server_ = std::make_unique<ApiServer>();
  startNetd();
  control_->awaitAttached();
  EXPECT_TRUE(std::holds_alternative<ClaimGone>(control_->claim(kDriver, "c")));
  EXPECT_EQ(tokensTold(), std::set<std::string>{""});
  EXPECT_EQ(endsWell(), "");
}

DevicePool poolOf(std::size_t devices) {
  DevicePool pool{kDriver, "node-1", {}, {}};
  for (std::size_t i = 0; i < devices; ++i) {
    pool.devices["d-" + std::to_string(i)].attributes["vendor"] = std::string("10de");
  }
  return pool;
}

TEST_F(NetdDraTest, KeepsThePoolOfALargeNodeInHalfOfItsMemory) {
  constexpr std::size_t kDevices = 4096;
  constexpr unsigned long kHalfKib = 56UL << 10U;
  startAll();
  control_->publish(poolOf(kDevices));
  EXPECT_TRUE(netd_->says("event=pool_stored")) << netd_->output();
  const ThreadStatus status = threadStatuses(netd_->pid()).begin()->second;
  std::printf("netd dra, %zu devices: VmData %s, VmHWM %s\n", kDevices, status.at("VmData").c_str(),
              status.at("VmHWM").c_str());
  if (kOwnAllocator) {
    EXPECT_LT(std::stoul(status.at("VmData")), kHalfKib);
  }
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, KeepsThePoolThatPlugindPublishes) {
  startAll();
  EXPECT_EQ(control_->publish(poolOf(70)), KeptFields{.api = ResourceApi::kV1});
  EXPECT_TRUE(netd_->says("event=pool_stored")) << netd_->output();
  std::size_t devices = 0;
  for (const json& slice : server_->slices()) devices += slice.at("spec").at("devices").size();
  EXPECT_EQ(devices, 70U);
  // As the kubelet does it when it starts.
  const std::size_t before = server_->asked("POST ");
  server_->ask("DELETE", "/apis/resource.k8s.io/v1/resourceslices");
  while (server_->asked("POST ") == before)
    io_.provider->getTimer().afterDelay(20 * kj::MILLISECONDS).wait(io_.waitScope);
  EXPECT_EQ(endsWell(), "");
}

// plugind tells another pool whenever its devices change, and waits for the newest alone.
TEST_F(NetdDraTest, I10_PoolsThatCannotBeStoredAreKeptOnceHoweverManyCome) {
  constexpr std::size_t kDevices = 4096;
  constexpr unsigned long kHalfKib = 56UL << 10U;
  startAll();
  server_->control({{"fail", {{{"match", "GET /"}, {"drop", "before"}, {"times", -1}}}}});
  const auto publish = [this](std::size_t devices) {
    auto request = control_->api().publishRequest();
    encode(poolOf(devices), request.initPool());
    return request.send().ignoreResult().eagerlyEvaluate(nullptr);
  };
  kj::Promise<void> newest = publish(kDevices);
  for (int i = 0; i < 200; ++i) newest = publish(kDevices);
  // Answered after what came before it.
  EXPECT_TRUE(std::holds_alternative<ClaimUnread>(control_->claim(kDriver, "../c")));
  const ThreadStatus status = threadStatuses(netd_->pid()).begin()->second;
  std::printf("netd dra, 200 pools of %zu devices: VmData %s, VmHWM %s\n", kDevices,
              status.at("VmData").c_str(), status.at("VmHWM").c_str());
  if (kOwnAllocator) {
    EXPECT_LT(std::stoul(status.at("VmData")), kHalfKib);
  }
  server_->control({{"clearFaults", true}});
  newest.wait(io_.waitScope);
  EXPECT_TRUE(netd_->says("event=pool_stored")) << netd_->output();
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, StoresAReportOnce) {
  startAll();
  const std::string uid = server_->makeClaim("c", kDriver, {{.device = "0000-01-00-0"}});
  const ClaimReport report{
      kDriver,
      "default",
      "c",
      uid,
      {{"node-1", "0000-01-00-0", std::nullopt, true, "Prepared", "", "0000:01:00.0"}}};
  EXPECT_EQ(control_->report(report), "");
  const json entry = server_->claim("c").at("status").at("devices").at(0);
  EXPECT_EQ(entry.at("data").at("address"), "0000:01:00.0");
  EXPECT_EQ(entry.at("conditions").at(0).at("status"), "True");
  EXPECT_EQ(control_->report(report), "");
  EXPECT_EQ(server_->asked("PUT "), 1U);
  ClaimReport other = report;
  other.uid = "another";
  EXPECT_THAT(control_->report(other), HasSubstr("another one"));
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, AReportIsWrittenAgainAfterAConflict) {
  startAll();
  const std::string uid = server_->makeClaim("c", kDriver, {{.device = "d"}});
  server_->control({{"fail", {{{"match", "PUT /apis"}, {"status", 409}}}}});
  EXPECT_EQ(control_->report({kDriver, "default", "c", uid, {{"node-1", "d", {}, true, "R"}}}), "");
  EXPECT_EQ(server_->asked("PUT "), 2U);
}

TEST_F(NetdDraTest, TriesAgainWhatMayPassAndSaysSo) {
  startAll();
  server_->makeClaim("c", kDriver, {{.device = "d"}});
  server_->control({{"fail",
                     {{{"match", "GET /apis"}, {"status", 429}, {"retryAfter", 1}},
                      {{"match", "GET /apis"}, {"drop", "mid-body"}},
                      {{"match", "GET /apis"}, {"status", 503}}}}});
  EXPECT_TRUE(std::holds_alternative<AllocatedClaim>(control_->claim(kDriver, "c")));
  EXPECT_TRUE(netd_->says("event=api_away")) << netd_->output();
  EXPECT_TRUE(netd_->says("event=api_back")) << netd_->output();
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, RefusalsOfTheApiServerAreCutAndCounted) {
  startAll();
  // Each for another reason than before: a line each.
  constexpr std::size_t kRefusals = 1'000;
  json refusals = json::array();
  for (std::size_t i = 0; i < kRefusals; ++i) {
    refusals.push_back({{"match", "GET /apis"}, {"status", i % 2 == 0 ? 401 : 403}});
  }
  server_->control({{"fail", refusals}});
  for (std::size_t i = 0; i < kRefusals; ++i) {
    ASSERT_TRUE(std::holds_alternative<ClaimUnread>(control_->claim(kDriver, "c")));
  }
  ASSERT_EQ(endsWell(), "");
  const std::size_t told = netd_->count("event=api_refuses");
  EXPECT_GE(told, 256U);
  EXPECT_LT(told, kRefusals);
  std::size_t leftOut = 0;
  std::istringstream lines(netd_->output());
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kLeftOut = "event=lines_left_out of=api_refuses count=";
    const std::size_t at = line.find(kLeftOut);
    if (at != std::string::npos) leftOut += std::stoul(line.substr(at + kLeftOut.size()));
  }
  EXPECT_EQ(told + leftOut, kRefusals);
}

TEST_F(NetdDraTest, LockedDownItStillReadsAReplacedToken) {
  startAll();
  server_->makeClaim("c", kDriver, {{.device = "d"}});
  control_->claim(kDriver, "c");
  replaceToken("two");
  EXPECT_TRUE(std::holds_alternative<AllocatedClaim>(control_->claim(kDriver, "c")));
  EXPECT_EQ(server_->journal().back().at("token"), "two");
  replaceToken("three");
  const auto refused = control_->claim(kDriver, "c");
  ASSERT_TRUE(std::holds_alternative<ClaimUnread>(refused));
  EXPECT_THAT(std::get<ClaimUnread>(refused).why, HasSubstr("401"));
  EXPECT_TRUE(netd_->says("event=api_refuses")) << netd_->output();
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, AttachesAgainToAPlugindThatRestarts) {
  startNetd();
  EXPECT_TRUE(netd_->says("event=plugind_away")) << netd_->output();
  startControl();
  control_->awaitAttached();
  control_->hangUp();
  control_->awaitAttached();
  server_->makeClaim("c", kDriver, {{.device = "d"}});
  EXPECT_TRUE(std::holds_alternative<AllocatedClaim>(control_->claim(kDriver, "c")));
  EXPECT_EQ(endsWell(), "");
}

// Of two on one node each ends the other's attachment by its own.
TEST_F(NetdDraTest, AnAttachmentThatDoesNotLastIsTriedAgainLaterAndLater) {
  constexpr int kTimes = 7;
  startAll();
  kj::Timer& timer = io_.provider->getTimer();
  const auto begun = timer.now();
  for (int i = 0; i < kTimes; ++i) {
    control_->hangUp();
    control_->awaitAttached();
  }
  // At least half of 50, 100, 200, 400, 800, 1,600, 2,000 ms.
  EXPECT_GE(timer.now() - begun, 2 * kj::SECONDS);
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, AsksAgainWhetherPlugindIsADriver) {
  startControl("");
  startNetd();
  control_->awaitAttached();
  control_->awaitAttached();
  EXPECT_TRUE(netd_->says("event=dra_off")) << netd_->output();
  EXPECT_EQ(netd_->count("event=dra_off"), 1U);
  EXPECT_EQ(server_->asked("GET "), 0U);
  EXPECT_EQ(endsWell(), "");
}

TEST_F(NetdDraTest, IsLockedDownWhileItServes) {
  startAll();
  server_->makeClaim("c", kDriver, {{.device = "d"}});
  control_->claim(kDriver, "c");
  const pid_t pid = netd_->pid();
  EXPECT_THAT(lockdownFaults(pid), IsEmpty());
  EXPECT_THAT(identityFaults(pid, kNetdUser), IsEmpty());
  EXPECT_EQ(threadStatuses(pid).size(), 1U);
  EXPECT_THAT(descriptorsOfKind(pid, {S_IFREG, S_IFDIR, S_IFCHR}), IsEmpty());
}

// Its filter taken out, and each call compared with the table.
TEST_F(NetdDraTest, NeedsEveryRowOfItsTableThatIsNotDefensiveAndNoOther) {
#ifdef VFIOGATE_SANITIZED
  GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  const std::string tracer = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  startNetd({tracer + "/trace_calls", "netd-dra"});
  EXPECT_TRUE(netd_->says("event=plugind_away")) << netd_->output();
  startControl();
  control_->awaitAttached();
  const std::string uid = server_->makeClaim("c", kDriver, {{.device = "d"}});
  EXPECT_TRUE(std::holds_alternative<AllocatedClaim>(control_->claim(kDriver, "c")));
  EXPECT_EQ(control_->report({kDriver, "default", "c", uid, {{"node-1", "d", {}, true, "R"}}}), "");
  control_->publish(poolOf(3));
  replaceToken("two");
  server_->control({{"fail", {{{"match", "GET /apis"}, {"drop", "mid-body"}}}}});
  EXPECT_TRUE(std::holds_alternative<AllocatedClaim>(control_->claim(kDriver, "c")));
  control_->hangUp();
  control_->awaitAttached();
  netd_->signal(SIGTERM);
  EXPECT_EQ(netd_->wait(), 0) << "a call without a row: " << netd_->output();
  const std::string tally = netd_->outputWhole();
  EXPECT_THAT(tally, HasSubstr("epoll_wait"));
  EXPECT_THAT(tally, testing::Not(HasSubstr("UNUSED"))) << tally;
}

TEST_F(NetdDraTest, DoesNotStartWithoutAuthorities) {
  ChildProcess netd({builtProgram("netd"), "dra", "--node", "n", "--api-server", server_->url(),
                     "--ca", dir_ / "token"});
  EXPECT_EQ(netd.wait(), 1);
  EXPECT_THAT(netd.outputWhole(), HasSubstr("no certificate"));
}

}  // namespace
}  // namespace vfiogate::test
