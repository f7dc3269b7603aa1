// The stand-in kubelet, DRA: what it says to an API server, and what it reads from the answers.

#include "sim/kubelet/dra/api_claims.h"

#include <gmock/gmock.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <thread>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Answers each connection with the next of its answers, and hangs up.
class ScriptedApi {
public:
  explicit ScriptedApi(std::vector<std::string> answers)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* place = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, place, size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, place, &size) != 0) {
      throw std::runtime_error("no port");
    }
    port_ = ntohs(address.sin_port);
    serving_ = std::thread([this, answers = std::move(answers)]() {
      for (const std::string& answer : answers) serve(answer);
    });
  }
  ~ScriptedApi() {
    if (serving_.joinable()) serving_.join();
    close(listener_);
  }
  ScriptedApi(const ScriptedApi&) = delete;
  ScriptedApi& operator=(const ScriptedApi&) = delete;

  std::uint16_t port() const { return port_; }
  /// Once all is answered.
  const std::vector<std::string>& requests() {
    if (serving_.joinable()) serving_.join();
    return requests_;
  }

private:
  void serve(const std::string& answer) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);  // small enough to come whole
    requests_.emplace_back(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    close(fd);
  }

  int listener_;
  std::uint16_t port_ = 0;
  std::vector<std::string> requests_;
  std::thread serving_;
};

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

TEST(KubeletDraApi, K26_GetsAClaim) {
  ScriptedApi api({http("200 OK", R"({"metadata": {"namespace": "ns", "name": "a", "uid": "u",
      "ownerReferences": [{"kind": "Pod", "uid": "p"}]},
    "status": {"reservedFor": [{"resource": "pods", "name": "n", "uid": "p"}],
      "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "x",
        "device": "y", "shareID": "s"}]}}}})")});
  ApiClaims claims(api.port(), "node-1", []() { return std::string("secret"); });
  std::string why;
  const auto claim = claims.get("ns", "a", why);
  ASSERT_TRUE(claim) << why;
  EXPECT_EQ(claim->nameSpace, "ns");
  EXPECT_EQ(claim->name, "a");
  EXPECT_EQ(claim->uid, "u");
  EXPECT_EQ(claim->ownerPodUid, "p");
  EXPECT_TRUE(claim->allocated);
  EXPECT_THAT(claim->results, ElementsAre(AllocationResult{"r", "d", "x", "y", "s"}));
  EXPECT_THAT(claim->reservedFor, ElementsAre("p"));
  EXPECT_THAT(api.requests()[0],
              StartsWith("GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a HTTP/1.1"));
  EXPECT_THAT(api.requests()[0], HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
}

TEST(KubeletDraApi, K26_AClaimThatCannotBeReadIsAFailureInWords) {
  ScriptedApi api({http("404 Not Found", "gone"), http("200 OK", "{}"), ""});
  ApiClaims claims(api.port(), "node-1");
  for (const char* words : {"404: gone", "metadata", "does not answer"}) {
    std::string why;
    EXPECT_FALSE(claims.get("ns", "a", why));
    EXPECT_THAT(why, HasSubstr(words));
  }
}

TEST(KubeletDraApi, AddsAPodToThoseThatMayUseAClaim) {
  ScriptedApi api({http("200 OK", R"({"metadata": {"namespace": "ns", "name": "a", "uid": "u"},
    "status": {"reservedFor": [{"resource": "pods", "name": "n", "uid": "p"}]}})"),
                   http("200 OK", "{}")});
  EXPECT_EQ(ApiClaims(api.port(), "node-1").reserve("ns", "a", "q"), "");
  EXPECT_THAT(api.requests()[1], StartsWith("PATCH "));
  EXPECT_THAT(api.requests()[1], HasSubstr("/resourceclaims/a/status HTTP/1.1"));
  EXPECT_THAT(api.requests()[1], HasSubstr(R"("uid":"p")"));
  EXPECT_THAT(api.requests()[1], HasSubstr(R"("uid":"q")"));
}

TEST(KubeletDraApi, K30_DeletesTheNodesSlicesOrADriversOnly) {
  const std::string done = http("200 OK", "{}");
  ScriptedApi api({done, done, http("500 Internal Server Error", "")});
  ApiClaims claims(api.port(), "node-1");
  EXPECT_TRUE(claims.wipeNode());
  EXPECT_TRUE(claims.wipeDriver("vfio.example.com"));
  EXPECT_FALSE(claims.wipeNode());
  const std::string begin = "DELETE /apis/resource.k8s.io/v1/resourceslices?fieldSelector=";
  EXPECT_THAT(api.requests()[0], StartsWith(begin + "spec.nodeName%3Dnode-1 "));
  EXPECT_THAT(api.requests()[1],
              StartsWith(begin + "spec.nodeName%3Dnode-1%2Cspec.driver%3Dvfio.example.com "));
}

}  // namespace
}  // namespace vfiogate::sim
