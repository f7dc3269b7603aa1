// The gate to the kubelet, as plugind's end of the connection meets it.

#include "tests/unit/privd/rpc/served_rpc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <vector>

namespace vfiogate {
namespace {

/// What one telling said is there: registration, PodResources, checkpoint.
struct Told {
  std::uint64_t registration = 0;  ///< its inode; 0: not there
  std::uint64_t podResources = 0;
  std::uint64_t checkpoint = 0;

  friend bool operator==(const Told&, const Told&) = default;
};

class TakingKubeletObserver final : public schema::KubeletObserver::Server {
public:
  TakingKubeletObserver(std::vector<Told>& told, kj::Maybe<kj::Promise<void>>& holdsUp)
      : told_(told), holdsUp_(holdsUp) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    const auto files = context.getParams().getFiles();
    told_.push_back({files.getRegistration().getInode(), files.getPodResources().getInode(),
                     files.getCheckpoint().getInode()});
    KJ_IF_MAYBE (holdsUp, holdsUp_) {
      auto late = kj::mv(*holdsUp);
      holdsUp_ = nullptr;
      return late;
    }
    return kj::READY_NOW;
  }

private:
  std::vector<Told>& told_;
  kj::Maybe<kj::Promise<void>>& holdsUp_;
};

class GateServerTest : public ServedRpc {
protected:
  ~GateServerTest() noexcept override = default;
  GateServerTest() : node_(node()), plugind_(std::make_unique<ServedPeer>(node_, io_)) {
    gateClient_.emplace(
        plugind_->enter().kubeletRequest().send().wait(io_.waitScope).getAnswer().getGate());
  }

  schema::KubeletGate::Client gate() { return KJ_ASSERT_NONNULL(gateClient_); }

  void watch() {
    auto request = gate().watchRequest();
    request.setObserver(kj::heap<TakingKubeletObserver>(told_, holdsUp_));
    request.send().ignoreResult().wait(io_.waitScope);
  }

  void writeCheckpoint(const std::string& text) {
    std::ofstream(pathOf(".temporary")) << text;
    std::filesystem::rename(pathOf(".temporary"), pathOf("kubelet_internal_checkpoint"));
  }

  std::string pathOf(const std::string& name) const { return deviceDirectory() + "/" + name; }
  static std::uint64_t inodeOf(const std::string& path) {
    struct stat status = {};
    return lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  std::uint64_t checkpointInode() const { return inodeOf(pathOf("kubelet_internal_checkpoint")); }

  /// True as soon as the last telling is `want`.
  bool hears(const Told& want) {
    kj::Timer& timer = io_.provider->getTimer();
    const auto until = timer.now() + 10 * kj::SECONDS;
    while (told_.empty() || told_.back() != want) {
      if (timer.now() > until) return false;
      timer.afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    }
    return true;
  }

  auto checkpoint(std::uint32_t ticket) {
    auto request = gate().checkpointRequest();
    request.setTicket(ticket);
    return request.send().wait(io_.waitScope);
  }

  Node node_;
  std::unique_ptr<ServedPeer> plugind_;
  kj::Maybe<schema::KubeletGate::Client> gateClient_;
  std::vector<Told> told_;
  kj::Maybe<kj::Promise<void>> holdsUp_;
};

TEST_F(GateServerTest, HandsTheCheckpointOverForReadingOnly) {
  writeCheckpoint("{}");
  auto arriving = plugind_->descriptors().await(3, DescriptorKind::kFile);
  auto response = checkpoint(3);
  const auto file = response.getAnswer().getFile();
  EXPECT_EQ(file.getSize(), 2U);
  EXPECT_FALSE(file.hasKubelet());
  struct stat status = {};
  ASSERT_EQ(stat(pathOf("kubelet_internal_checkpoint").c_str(), &status), 0);
  EXPECT_EQ(file.getWritten(), nanosecondsOf(status.st_mtim));
  const auto fd = arriving.wait(io_.waitScope);
  EXPECT_EQ(fcntl(fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  char text[3] = {};
  EXPECT_EQ(read(fd.get(), text, sizeof(text)), 2);
}

TEST_F(GateServerTest, SaysWhichKubeletTheCheckpointIsJudgedBy) {
  writeCheckpoint("{}");
  auto kubelet = listenAt(deviceDirectory().c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  auto response = checkpoint(1);
  EXPECT_EQ(response.getAnswer().getFile().getKubelet().getInode(),
            inodeOf(pathOf("kubelet.sock")));
}

TEST_F(GateServerTest, TellsWhyThereIsNoCheckpoint) {
  EXPECT_TRUE(checkpoint(1).getAnswer().isAbsent());
  std::filesystem::create_symlink("/etc/shadow", pathOf("kubelet_internal_checkpoint"));
  EXPECT_EQ(checkpoint(2).getAnswer().getFailed(), ELOOP);
}

TEST_F(GateServerTest, I10_CheckpointsThatNobodyTakesAreBounded) {
  writeCheckpoint("{}");
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  gateClient_ = nullptr;
  plugind_ = nullptr;
  poll();
  // A peer whose channel is never read: its end is kept, and nobody looks at it.
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  const kj::AutoCloseFd ours(pair[0]);
  const kj::AutoCloseFd theirs(pair[1]);
  auto opened = sendOpening(ours);
  ASSERT_TRUE(opened);
  auto unread = receiveOpening(theirs).value();
  ServedPeer deaf(node_, io_, kj::mv(opened).value());
  auto gate = deaf.enter().kubeletRequest().send().wait(io_.waitScope).getAnswer().getGate();
  const auto before = descriptors();
  unsigned sent = 0;
  for (std::uint32_t ticket = 0; ticket < 1000; ++ticket) {
    auto request = gate.checkpointRequest();
    request.setTicket(ticket);
    if (request.send().wait(io_.waitScope).getAnswer().isFile()) ++sent;
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_GT(sent, 0U);
  EXPECT_LT(sent, 400U) << "the kernel holds more of them than its buffer may";
}

TEST_F(GateServerTest, TellsAtOnceWhatThereIs) {
  auto kubelet = listenAt(deviceDirectory().c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  watch();
  EXPECT_TRUE(hears({inodeOf(pathOf("kubelet.sock")), 0, 0}));
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(GateServerTest, TellsOfEachThingThatComes) {
  watch();
  EXPECT_TRUE(hears({}));
  auto kubelet = listenAt(deviceDirectory().c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  const auto socket = inodeOf(pathOf("kubelet.sock"));
  EXPECT_TRUE(hears({socket, 0, 0}));
  writeCheckpoint("{}");
  EXPECT_TRUE(hears({socket, 0, checkpointInode()}));
  writeCheckpoint("{ }");
  EXPECT_TRUE(hears({socket, 0, checkpointInode()}));
  std::filesystem::create_directory(dir_ / "pod-resources");
  auto pods = listenAt((dir_ / "pod-resources").c_str(), "kubelet.sock", WhoMayConnect::kOwner);
  EXPECT_TRUE(hears({socket, inodeOf(dir_ / "pod-resources/kubelet.sock"), checkpointInode()}));
}

TEST_F(GateServerTest, OneCallIsUnderWayAndTheNextTellsTheLatest) {
  auto held = kj::newPromiseAndFulfiller<void>();
  holdsUp_ = kj::mv(held.promise);
  watch();
  ASSERT_TRUE(hears({}));
  for (int i = 0; i < 50; ++i) {
    writeCheckpoint(std::string(static_cast<std::size_t>(i), ' '));
    poll();
  }
  EXPECT_EQ(told_.size(), 1U);
  held.fulfiller->fulfill();
  EXPECT_TRUE(hears({0, 0, checkpointInode()}));
  EXPECT_EQ(told_.size(), 2U);
}

TEST_F(GateServerTest, OtherNamesAreNoNews) {
  watch();
  ASSERT_TRUE(hears({}));
  std::ofstream(pathOf("somebody-elses.sock")) << "";
  writeCheckpoint("{}");
  ASSERT_TRUE(hears({0, 0, checkpointInode()}));
  EXPECT_EQ(told_.size(), 2U);
}

}  // namespace
}  // namespace vfiogate
