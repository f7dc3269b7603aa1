// No packet of any network interface reaches plugind, and no byte of a request to netd does.

#include "tests/integration/netd_case.h"
#include "tests/support/seen/network_sockets.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

namespace vfiogate::test {
namespace {

/// Whether `text` is anywhere in what the process may write to.
bool hasInMemory(pid_t pid, const std::string& text) {
  constexpr std::uint64_t kLargest = 512ULL << 20U;  // a sanitizer reserves more than there is
  const std::string process = "/proc/" + std::to_string(pid);
  const int memory = open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_GE(memory, 0) << "cannot read the memory of another process";
  std::ifstream maps(process + "/maps");
  bool found = false;
  for (std::string line; !found && std::getline(maps, line);) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    char dash = 0;
    std::string rights;
    std::istringstream(line) >> std::hex >> from >> dash >> to >> rights;
    if (!rights.starts_with("rw") || to - from > kLargest) continue;
    std::string bytes(to - from, '\0');
    const ssize_t got = pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(from));
    if (got > 0)
      found = bytes.substr(0, static_cast<std::size_t>(got)).find(text) != std::string::npos;
  }
  close(memory);
  return found;
}

class NoPacket : public NetdCase {
protected:
  /// Scrapes and nonsense, until destroyed.
  class Traffic {
  public:
    explicit Traffic(std::uint16_t port)
        : thread_([this, port] {
            while (!ending_) {
              httpGet(port, "/metrics", kPatience);
              HttpConnection(port).send(std::string(1000, '\x7f') + "\r\n\r\n");
              ++rounds_;
            }
          }) {}
    ~Traffic() {
      ending_ = true;
      thread_.join();
    }
    void awaitRounds(int count) const {
      while (rounds_ < count) poll(nullptr, 0, 1);
    }

  private:
    std::atomic<bool> ending_ = false;
    std::atomic<int> rounds_ = 0;
    std::thread thread_;
  };
};

TEST_F(NoPacket, ReachesPlugind) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  const Traffic traffic(port());
  ASSERT_TRUE(node_->kubelet.admit(podOf("pod-1", kGpus)).admitted) << node_->said();
  for (int round = 1; round <= 20; ++round) {
    traffic.awaitRounds(round);
    const pid_t plugind = node_->plugind->pid();
    EXPECT_THAT(networkSocketsOf(plugind), testing::IsEmpty());
    EXPECT_THAT(localSocketsOf(plugind), testing::Not(testing::IsEmpty()));
  }
  // The same search finds netd's, which has one.
  EXPECT_THAT(networkSocketsOf(node_->netd->pid()), testing::Contains(testing::StartsWith("tcp ")));
}

TEST_F(NoPacket, NoByteOfARequestLeavesNetd) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  // Put together here, so that it is in no program's text.
  const std::string token = std::to_string(getpid()) + "-goes-nowhere-" + std::to_string(port());
  httpGet(port(), "/metrics?" + token, kPatience);
  httpGet(port(), "/" + token, kPatience);
  HttpConnection open(port());
  ASSERT_TRUE(open.send("GET /metrics HTTP/1.1\r\nHost: " + token + "\r\nX: "));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!hasInMemory(node_->netd->pid(), token) && std::chrono::steady_clock::now() < end) {
    poll(nullptr, 0, 10);
  }
  EXPECT_TRUE(hasInMemory(node_->netd->pid(), token)) << "the search finds nothing";
  EXPECT_EQ(getUntil("/metrics", 200).code, 200);  // netd asks plugind meanwhile
  EXPECT_FALSE(hasInMemory(node_->plugind->pid(), token));
  EXPECT_FALSE(hasInMemory(node_->privd->pid(), token));
  for (const char* role : {"hardware", "gate"}) {
    EXPECT_FALSE(hasInMemory(node_->roleOf(role), token)) << role;
  }
}

}  // namespace
}  // namespace vfiogate::test
