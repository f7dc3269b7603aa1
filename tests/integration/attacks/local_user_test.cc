// A hostile local user at the places where privd and plugind can be met.

#include "ipc/gate/opening.h"
#include "sim/base/process_status.h"
#include "tests/integration/netd_case.h"
#include "tests/support/played/service_watch.h"
#include "tests/support/played/stranger.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <tuple>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

sockaddr_un localAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

int connectTo(const std::string& path, int fd) {
  const sockaddr_un address = localAddress(path);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
}

int listenOn(const std::string& path) {
  const sockaddr_un address = localAddress(path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
}

int newSocket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/// Where everything is.
struct Places {
  std::string exclusion;  ///< of the device, by which privd would take it out of offer
  std::string plugindSocket;
  std::string pluginSocket;  ///< of a resource, in the kubelet's directory
  pid_t privd;
  pid_t plugind;
  pid_t hardware;  ///< privd's process without root
};

struct LocalAct {
  const char* name;
  int (*carryOut)(const Places& places);
  int error;
};
void PrintTo(const LocalAct& row, std::ostream* out) {
  *out << row.name;
}

// What both a stranger and a tenant who chose the user try.
int excludesADevice(const Places& at) {
  return open(at.exclusion.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? 0 : errno;
}
int connectsToADevicePlugin(const Places& at) {
  return connectTo(at.pluginSocket, newSocket());
}
int listensBesideTheKubelet(const Places& at) {
  return listenOn(at.pluginSocket + "2");
}
int killsPlugind(const Places& at) {
  return kill(at.plugind, SIGKILL) == 0 ? 0 : errno;
}
int tracesPlugind(const Places& at) {
  return ptrace(PTRACE_SEIZE, at.plugind, nullptr, nullptr) == 0 ? 0 : errno;
}
int readsPlugindsMemory(const Places& at) {
  const std::string memory = "/proc/" + std::to_string(at.plugind) + "/mem";
  return open(memory.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno;
}

int killsHardware(const Places& at) {
  return kill(at.hardware, SIGKILL) == 0 ? 0 : errno;
}
int tracesHardware(const Places& at) {
  return ptrace(PTRACE_SEIZE, at.hardware, nullptr, nullptr) == 0 ? 0 : errno;
}
int readsHardwaresMemory(const Places& at) {
  const std::string memory = "/proc/" + std::to_string(at.hardware) + "/mem";
  return open(memory.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ? 0 : errno;
}

class LocalUser : public NetdCase {
protected:
  Places places() {
    Places found{node_->directory("state/holds/0000:01:00.0"),
                 node_->plugindSocket(),
                 "",
                 node_->privd->pid(),
                 node_->plugind->pid(),
                 childRunning(node_->privd->pid(), "privd-hardware")};
    for (const auto& entry : fs::directory_iterator(node_->directory("kubelet/device-plugins"))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("vfiogate-")) found.pluginSocket = entry.path();
    }
    return found;
  }
  bool allocates() {
    std::string error;
    node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
    return error.empty();
  }
};

class LocalUserActs : public LocalUser, public testing::WithParamInterface<LocalAct> {};

TEST_P(LocalUserActs, AreRefused) {
  startAll();
  const Places where = places();
  EXPECT_EQ(asStranger([&] { return GetParam().carryOut(where); }), GetParam().error)
      << strerror(GetParam().error) << " is expected";
  EXPECT_TRUE(servesOthers(*node_->privd, node_->directory("state"))) << node_->said();
  EXPECT_TRUE(allocates()) << node_->said();
}

INSTANTIATE_TEST_SUITE_P(
    All, LocalUserActs,
    testing::Values(
        LocalAct{"ExcludesADevice", excludesADevice, EACCES},
        LocalAct{"ConnectsToADevicePlugin", connectsToADevicePlugin, EACCES},
        LocalAct{"ListensBesidePlugind",
                 [](const Places& at) { return listenOn(at.plugindSocket + "2"); }, EACCES},
        LocalAct{"ListensBesideTheKubelet", listensBesideTheKubelet, EACCES},
        LocalAct{"RemovesPlugindsSocket",
                 [](const Places& at) { return unlink(at.plugindSocket.c_str()) == 0 ? 0 : errno; },
                 EACCES},
        LocalAct{"MovesPlugindsSocket",
                 [](const Places& at) {
                   return rename(at.plugindSocket.c_str(), (at.plugindSocket + "2").c_str()) == 0
                              ? 0
                              : errno;
                 },
                 EACCES},
        // Where listenAt() makes a socket before it renames it.
        LocalAct{"LinksWherePlugindsSocketIsMade",
                 [](const Places& at) {
                   const std::string name =
                       fs::path(at.plugindSocket).parent_path() / ".plugind.sock";
                   return symlink("/etc/passwd", name.c_str()) == 0 ? 0 : errno;
                 },
                 EACCES},
        LocalAct{"LinksWhereAPluginsSocketIsMade",
                 [](const Places& at) {
                   const std::string name = fs::path(at.pluginSocket).parent_path() / ".x.sock";
                   return symlink("/etc/passwd", name.c_str()) == 0 ? 0 : errno;
                 },
                 EACCES},
        LocalAct{"KillsPrivd",
                 [](const Places& at) { return kill(at.privd, SIGKILL) == 0 ? 0 : errno; }, EPERM},
        LocalAct{"KillsPlugind", killsPlugind, EPERM},
        LocalAct{"KillsPrivdsHardwareProcess", killsHardware, EPERM},
        LocalAct{"TracesPlugind", tracesPlugind, EPERM},
        LocalAct{"ReadsPlugindsMemory", readsPlugindsMemory, EACCES}),
    [](const auto& row) { return std::string(row.param.name); });

constexpr uid_t kHardwareUid = 64531;

// A tenant chooses one of our users for a pod: in namespaces of its own, as a pod's are. Its
// sockets stay in reach here, which no pod's are. What the kernel counts by user:
// tenant_quotas_test.
class TenantsActs : public LocalUser,
                    public testing::WithParamInterface<std::tuple<uid_t, LocalAct>> {
public:
  static std::string nameOf(uid_t user) {
    if (user == kNetdUid) return "Netd";
    return user == kPlugindUid ? "Plugind" : "Hardware";
  }

protected:
  static int asTenant(uid_t user, const std::function<int()>& act) {
    return inAProcess([user, &act]() {
      if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC) != 0) return 253;
      return asUser(user, act);  // the first of its PID namespace
    });
  }
};

TEST_P(TenantsActs, GetNothingForChoosingOneOfOurUsers) {
  startAll();
  const Places where = places();
  const auto& [user, act] = GetParam();
  EXPECT_EQ(asTenant(user, [&, carryOut = act.carryOut] { return carryOut(where); }), act.error)
      << strerror(act.error) << " is expected";
  EXPECT_TRUE(allocates()) << node_->said();
  EXPECT_EQ(getUntil("/healthz", 200).code, 200);
}

INSTANTIATE_TEST_SUITE_P(
    All, TenantsActs,
    testing::Combine(
        testing::Values(kPlugindUid, kHardwareUid, kNetdUid),
        testing::Values(LocalAct{"ExcludesADevice", excludesADevice, EACCES},
                        LocalAct{"ConnectsToADevicePlugin", connectsToADevicePlugin, EACCES},
                        LocalAct{"ListensBesideTheKubelet", listensBesideTheKubelet, EACCES},
                        LocalAct{"KillsPlugind", killsPlugind, ESRCH},
                        LocalAct{"KillsPrivdsHardwareProcess", killsHardware, ESRCH},
                        LocalAct{"TracesPrivdsHardwareProcess", tracesHardware, ESRCH},
                        LocalAct{"ReadsItsMemory", readsHardwaresMemory, EACCES},
                        // All that it may signal are those that it sees.
                        LocalAct{
                            "KillsAllThatItMay",
                            [](const Places& /*at*/) { return kill(-1, SIGKILL) == 0 ? 0 : errno; },
                            ESRCH},
                        LocalAct{"TracesPlugind", tracesPlugind, ESRCH},
                        // By the node's own /proc, which no pod has.
                        LocalAct{"ReadsPlugindsMemory", readsPlugindsMemory, EACCES})),
    [](const auto& row) {
      return TenantsActs::nameOf(std::get<0>(row.param)) + "_" + std::get<1>(row.param).name;
    });

// Out of reach of any pod; and where it were not, the place is taken.
TEST_F(LocalUser, AnotherOfTheHardwareProcesssUserIsSentAway) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  const std::string path = node_->plugindSocket();
  EXPECT_EQ(asUser(kHardwareUid,
                   [&path] {
                     const int fd = newSocket();
                     if (connectTo(path, fd) != 0) return errno;
                     const char opening[] = {static_cast<char>(PrivdRole::kHardware),
                                             static_cast<char>(kChannelVersion)};
                     send(fd, opening, sizeof(opening), MSG_NOSIGNAL);
                     char byte = 0;
                     return recv(fd, &byte, 1, 0) <= 0 ? 0 : EEXIST;
                   }),
            0)
      << "it is told something";
  EXPECT_EQ(node_->plugind->count("event=privd_went"), 0U) << node_->said();
  EXPECT_TRUE(allocates()) << node_->said();
}

// Anybody may dial plugind's socket, and is sent away.
TEST_F(LocalUser, AFloodAtPlugindsSocketHoldsNobodyUp) {
  startAll();
  ASSERT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  const ProcessSize before = sizeOf(node_->plugind->pid());
  int told[2];
  int done[2];
  ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(done, O_CLOEXEC), 0);
  std::thread stranger([&] {
    asStranger([&, path = node_->plugindSocket()] {
      static const char garbage[4096] = {};
      for (int i = 0; i < 900; ++i) {  // all kept open
        const int fd = newSocket();
        connectTo(path, fd);
        send(fd, garbage, sizeof(garbage), MSG_DONTWAIT | MSG_NOSIGNAL);
      }
      char byte = 0;
      return write(told[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1 ? 0 : 1;
    });
  });
  char byte = 0;
  EXPECT_EQ(read(told[0], &byte, 1), 1);
  const ProcessSize meanwhile = sizeOf(node_->plugind->pid());
  EXPECT_LE(meanwhile.descriptors, before.descriptors + 8) << meanwhile.str();
  EXPECT_TRUE(allocates()) << node_->said();
  EXPECT_EQ(getUntil("/healthz", 200).code, 200);
  ChildProcess status({"/usr/bin/setpriv", "--reuid=64532", "--regid=64532", "--clear-groups",
                       builtProgram("plugind"), "status", "--listen", node_->plugindSocket()},
                      filteredEnvironment());
  EXPECT_EQ(status.wait(), 0) << status.output();
  EXPECT_EQ(write(done[1], &byte, 1), 1);
  stranger.join();
  for (const int fd : {told[0], told[1], done[0], done[1]}) close(fd);
  EXPECT_LE(node_->plugind->count("event=peer_refused"), 60U) << "told at most once a second";
}

// As somebody could lay it who has plugind's directory: privd follows it, and sees who listens.
TEST_F(LocalUser, ALinkInPlugindsPlaceLeadsPrivdToNobody) {
  const std::string theirs = node_->directory("theirs");
  fs::create_directory(theirs);
  ASSERT_EQ(chown(theirs.c_str(), kStranger, kStranger), 0);
  fs::create_symlink(theirs + "/their.sock", node_->plugindSocket());
  const int fd = newSocket();
  ASSERT_EQ(seteuid(kStranger), 0);
  const sockaddr_un address = localAddress(theirs + "/their.sock");
  const int bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int listening = listen(fd, 4);
  chmod((theirs + "/their.sock").c_str(), 0777);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(bound, 0);
  ASSERT_EQ(listening, 0);
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ASSERT_TRUE(node_->privd->says("event=plugind_refused")) << node_->said();
  EXPECT_THAT(node_->privd->output(), testing::HasSubstr("uid=65534 expected=64532"));
  const int dialled = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
  char byte = 0;
  EXPECT_EQ(read(dialled, &byte, 1), 0) << "it was told something";
  close(dialled);
  close(fd);
}

}  // namespace
}  // namespace vfiogate::test
