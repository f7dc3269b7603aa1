// The account's token is told to the API server, and to nobody else: not by `netd dra`'s log, not
// by what it answers plugind, also where the API server says it back.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "tests/support/played/api_server.h"
#include "tests/support/played/control_stand_in.h"
#include "tests/support/seen/log_grammar.h"
#include "tests/support/test_certificates.h"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <variant>

namespace vfiogate::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSecretsDriver = "vfio.vfiogate.dev";
const std::string kToken = "eyJhbGciOiJub25lIn0.c2VjcmV0LW9mLW5ldGQtZHJh.c2lnbmF0dXJl";

class Secrets : public testing::Test {
public:
  // KJ's destructors may throw; a test's may not.
  ~Secrets() noexcept override = default;

protected:
  void SetUp() override {
    chmod(dir_.path().c_str(), 0755);
    certificates_ = makeCertificates(dir_.path() / "pki");
    std::ofstream(dir_ / "token") << kToken << "\n";
    std::ofstream(dir_ / "known") << kToken;
    server_ = std::make_unique<ApiServer>(
        ApiServerOptions{certificates_.certificate, certificates_.key, {dir_ / "known"}});
    control_ = std::make_unique<ControlStandIn>(io_, dir_.path(), kSecretsDriver);
    netd_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{builtProgram("netd"), "dra", "--plugind", dir_ / "plugind.sock",
                                 "--api-server", server_->url(), "--token", dir_ / "token", "--ca",
                                 certificates_.ca, "--node", "node-1"},
        filteredEnvironment());
    ASSERT_TRUE(netd_->says("event=started")) << netd_->output();
    control_->awaitAttached();
    uid_ = server_->makeClaim("c", kSecretsDriver, {{.device = "d"}});
  }

  /// What the first answers to the next reads and writes of claims are.
  void answerWith(const json& order) {
    json fails = json::array();
    for (const char* method : {"GET /apis", "PUT /apis", "POST /apis", "PATCH /apis"}) {
      json each = order;
      each["match"] = method;
      each["times"] = 2;
      fails.push_back(each);
    }
    server_->control({{"fail", fails}});
  }
  /// All that plugind is told while the API server answers so.
  std::string askAll() {
    std::string told;
    const ClaimAnswer answer = control_->claim(kSecretsDriver, "c");
    if (const auto* unread = std::get_if<ClaimUnread>(&answer)) told += unread->why + "\n";
    told +=
        control_->report({kSecretsDriver, "default", "c", uid_, {{"node-1", "d", {}, true, "R"}}});
    server_->control({{"clearFaults", true}});
    return told;
  }
  void expectKept(const std::string& told) {
    EXPECT_THAT(told, Not(HasSubstr(kToken)));
    EXPECT_THAT(netd_->output(), Not(HasSubstr(kToken)));
    // The begin is enough for nobody, and shows that it was not just cut.
    EXPECT_THAT(told + netd_->output(), Not(HasSubstr(kToken.substr(0, 40))));
    EXPECT_THAT(logFaults(netd_->output()), testing::IsEmpty());
  }

  TempDir dir_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  TestCertificates certificates_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<ControlStandIn> control_;
  std::unique_ptr<ChildProcess> netd_;
  std::string uid_;
};

TEST_F(Secrets, AreKeptWhenTheApiServerSaysThemBack) {
  const std::string body =
      json({{"kind", "Status"}, {"message", "no right for Bearer " + kToken + "!"}}).dump();
  for (const int status : {400, 401, 403, 404, 409, 422, 500}) {
    answerWith({{"status", status}, {"body", body}});
    const std::string told = askAll();
    expectKept(told);
    if (status == 403) {
      EXPECT_THAT(told, HasSubstr("no right for Bearer")) << "the message is told";
    }
  }
}

TEST_F(Secrets, AreKeptInRedirectsAndBrokenAnswers) {
  answerWith({{"raw", "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://other.example/?t=" +
                          kToken + "\r\nContent-Length: 0\r\n\r\n"}});
  expectKept(askAll());
  answerWith({{"raw", "HTTP/1.1 2x0 " + kToken + "\r\n" + kToken + "\r\n\r\n"}});
  expectKept(askAll());
  answerWith({{"body", "{\"kind\": \"" + kToken + "\", " + kToken}});
  expectKept(askAll());
}

TEST_F(Secrets, AreKeptWhenNoneIsRight) {
  std::ofstream(dir_ / "known") << "another one, that netd has not";
  expectKept(askAll());
  EXPECT_TRUE(netd_->says("event=api_refuses")) << netd_->output();
}

TEST_F(Secrets, AreInNoArgumentAndNoVariableOfTheProcess) {
  for (const char* file : {"cmdline", "environ"}) {
    std::ifstream opened("/proc/" + std::to_string(netd_->pid()) + "/" + file);
    const std::string text(std::istreambuf_iterator<char>(opened), {});
    EXPECT_THAT(text, Not(HasSubstr(kToken))) << file;
  }
}

}  // namespace
}  // namespace vfiogate::test
