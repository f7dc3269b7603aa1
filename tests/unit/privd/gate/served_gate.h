#pragma once
// privd's gate in directories of the test's own, and the plugind that it dials: in one process.

#include "ipc/gate/opening.h"
#include "ipc/gate/packet_socket.h"
#include "ipc/socket/unix_socket.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"
#include "privd/gate/gate_loop.h"
#include "sim/base/temp_dir.h"
#include "tests/support/played/claim_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/debug.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vfiogate::test {

/// What came of one request.
struct Answered {
  gate::Answer answer;
  kj::Maybe<kj::AutoCloseFd> fd;
  bool hungUp = false;

  /// Not a code if the gate hung up.
  bool is(gate::Code code) const { return !hungUp && answer.code == code; }
  bool hasFd() const { return fd != nullptr; }
  int descriptor() const { return KJ_ASSERT_NONNULL(fd).get(); }
};

/// plugind's end.
struct PlayedPlugind {
  kj::AutoCloseFd socket;
  std::vector<gate::WatchedFiles> told;
  bool seesAtOnce = true;
  kj::AutoCloseFd lock;
};

/// Whom the played plugind is to the kernel: root is none.
inline uid_t playedUid() {
  constexpr uid_t kPlugind = 64532;
  return geteuid() == 0 ? kPlugind : geteuid();
}

/// A socket at `path` of `uid`, who calls listen(): in place of the one before. For root any uid.
inline kj::AutoCloseFd listenAs(uid_t uid, const std::filesystem::path& path) {
  const uid_t before = geteuid();
  KJ_SYSCALL(seteuid(uid));
  auto made =
      listenAt(path.parent_path().c_str(), path.filename().c_str(), WhoMayConnect::kEverybody);
  KJ_SYSCALL(seteuid(before));
  return kj::mv(made).value();
}

class ServedGate : public testing::Test {
protected:
  ServedGate() {
    for (const char* name :
         {"device-plugins", "plugins_registry", "cdi", "metadata", "config", "holds"}) {
      std::filesystem::create_directory(dir_ / name);
    }
    std::filesystem::create_directories(dir_ / ("plugins/" + kDraDriver));
    // plugind makes its socket as another user than the test's.
    chmod(dir_.path().c_str(), 0711);
    chmod((dir_ / "plugind").c_str(), 0777);
    start();
  }
  ~ServedGate() noexcept override = default;

  /// A gate with these rights, in place of the one before.
  void start(Rights rights = {.kubelet = true, .cdi = true}) {
    loop_.reset();
    service_.emplace(GateService::Deps{kubelet_, names_, lease_, records_, specs_, claims_, rights,
                                       dir_ / "config/plugind.yaml", dir_ / "holds"});
    dial_.emplace(dir_ / "plugind/plugind.sock", playedUid());
    loop_.emplace(
        GateLoop::Deps{*service_, *dial_, watch_, lasting_, signals_.theirs, starter_.theirs});
  }

  using End = GateLoop::End;
  std::optional<End> turn() { return loop_->turn(std::chrono::seconds(0)); }

  /// As plugind, which makes its socket anew. Whoever was connected before has left, or does now.
  PlayedPlugind connect() {
    leave();
    const auto listener = listenAs(playedUid(), dir_ / "plugind/plugind.sock");
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
      EXPECT_FALSE(loop_->turn(std::chrono::milliseconds(5)));
      auto accepted = acceptFrom(listener);
      KJ_IF_MAYBE (connection, accepted) {
        auto received = receiveOpening(*connection, kChannelVersion).value();
        auto& opening = KJ_ASSERT_NONNULL(received);
        EXPECT_EQ(opening.role, PrivdRole::kGate);
        auto& channel = KJ_ASSERT_NONNULL(opening.channel);
        connected_ = {channel.get(), socketInode(channel)};
        return {kj::mv(channel)};
      }
    }
    KJ_FAIL_ASSERT("the gate did not dial within 10 s");
  }

  /// Ends the last channel, where plugind has it still.
  void leave() {
    const auto [fd, inode] = std::exchange(connected_, {});
    if (inode != 0 && socketInode(fd) == inode) shutdown(fd, SHUT_RDWR);
    KJ_ASSERT(!turn());
  }
  static std::uint64_t socketInode(int fd) {
    struct stat status = {};
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
  }

  /// As the plugind that has the node, or gets it.
  PlayedPlugind entered() {
    auto plugind = connect();
    auto answered = ask(plugind, gate::Enter{});
    KJ_ASSERT(answered.is(gate::Code::kDone));
    KJ_IF_MAYBE (lock, answered.fd) plugind.lock = kj::mv(*lock);
    return plugind;
  }

  Answered ask(PlayedPlugind& plugind, const gate::Request& request) {
    return exchange(plugind, encode(request));
  }

  /// Sends the packet, and turns until there is an answer or the gate hung up.
  Answered exchange(PlayedPlugind& plugind, const std::string& packet, int fd = -1) {
    if (sendPacket(plugind.socket, packet, fd) != PacketSent::kSent) return gone();
    return await(plugind);
  }

  Answered await(PlayedPlugind& plugind) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
      EXPECT_FALSE(turn());
      auto received = receivePacket(plugind.socket, gate::kLargestAnswer);
      if (!received) return gone();
      auto arrived = kj::mv(received).value();
      KJ_IF_MAYBE (packet, arrived) {
        auto message = gate::decodeFromGate(packet->bytes).value();
        if (auto* answer = std::get_if<gate::Answer>(&message)) {
          return {*answer, kj::mv(packet->fd)};
        }
        take(plugind, std::get<gate::Changed>(message));
      }
    }
    ADD_FAILURE() << "no answer within 10 s";
    return gone();
  }

  /// Turns until plugind was told last of files that are `like` this.
  bool hears(PlayedPlugind& plugind, const std::function<bool(const gate::WatchedFiles&)>& like) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (plugind.told.empty() || !like(plugind.told.back())) {
      if (std::chrono::steady_clock::now() > until) return false;
      EXPECT_FALSE(loop_->turn(std::chrono::milliseconds(5)));
      takeTold(plugind);
    }
    return true;
  }

  /// Takes what was told, of a plugind without a request under way.
  void takeTold(PlayedPlugind& plugind) {
    while (true) {
      auto received = receivePacket(plugind.socket, gate::kLargestAnswer);
      if (!received) return;
      auto arrived = kj::mv(received).value();
      if (arrived == nullptr) return;
      take(plugind,
           std::get<gate::Changed>(gate::decodeFromGate(KJ_ASSERT_NONNULL(arrived).bytes).value()));
      KJ_ASSERT(!turn());
    }
  }

  /// A gate that hung up meanwhile does not hear it.
  void see(PlayedPlugind& plugind) {
    sendPacket(plugind.socket, encode(gate::Request(gate::Seen{})));
  }

  static Answered gone() { return {{}, nullptr, true}; }
  static std::string textOf(int fd) {
    std::string text(256, '\0');
    const ssize_t size = pread(fd, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
  }
  void writeCheckpoint(const std::string& text) const {
    write("device-plugins/.temporary", text);
    std::filesystem::rename(dir_ / "device-plugins/.temporary",
                            dir_ / "device-plugins/kubelet_internal_checkpoint");
  }
  static std::uint64_t inodeOf(const std::string& path) {
    struct stat status = {};
    return lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  std::size_t filesIn(const std::string& name) const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(dir_ / name), {}));
  }

  TempDir dir_;
  const ServedNames names_{{"vfiogate.dev/"}, kDraDriver};
  const bool made_ = std::filesystem::create_directory(dir_ / "config") &&
                     std::filesystem::create_directory(dir_ / "device-plugins") &&
                     std::filesystem::create_directory(dir_ / "plugind") &&
                     std::filesystem::create_directory(dir_ / "holds");
  KubeletGate kubelet_{dir_.path().c_str(), names_};
  PlugindLease lease_ = PlugindLease::open(dir_.path(), 40).value();
  AllocationRecords records_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  CdiStore specs_{dir_ / "cdi", names_};
  ClaimStore claims_{dir_ / "cdi", dir_ / "metadata", names_};
  DirectoryWatch watch_{{dir_ / "device-plugins", dir_ / "pod-resources", dir_ / "config",
                         dir_ / "plugind", dir_ / "holds"}};
  LastingDirectories lasting_;
  PacketPair starter_ = packetPair().value();
  PacketPair signals_ = packetPair().value();
  std::optional<GateService> service_;
  std::optional<PlugindDial> dial_;
  std::optional<GateLoop> loop_;
  std::pair<int, std::uint64_t> connected_;  ///< plugind's end: its number, and inode

private:
  void take(PlayedPlugind& plugind, const gate::Changed& changed) {
    plugind.told.push_back(changed.files);
    if (plugind.seesAtOnce) see(plugind);
  }
};

}  // namespace vfiogate::test
