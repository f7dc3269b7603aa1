// What the kernel counts by user, used up by a tenant who chose one of our users and holds it,
// while our programs serve and are started anew.

#include "tests/integration/netd_case.h"
#include "tests/support/played/tenant.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kHardwareUid = 64531;
const std::string kA = "0000:01:00.0";
const std::string kB = "0000:02:00.0";
const std::string kC = "0000:03:00.0";

std::size_t sysctl(const std::string& name) {
  std::size_t value = 0;
  std::ifstream("/proc/sys/fs/" + name) >> value;
  return value;
}

/// 0 if the error is the one by which the kernel says that a quota is used up.
int usedUp(int error) {
  return errno == error ? 0 : errno;
}

int keys() {
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = "tenant" + std::to_string(i);
    if (syscall(SYS_add_key, "user", name.c_str(), "x", 1, KEY_SPEC_USER_KEYRING) < 0) {
      return usedUp(EDQUOT);
    }
  }
  return EOVERFLOW;
}

int signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  for (int i = 0; i < 10'000'000; ++i) {
    if (sigqueue(getpid(), SIGRTMIN, sigval{}) != 0) return usedUp(EAGAIN);
  }
  return EOVERFLOW;
}

int inotifyInstances() {
  while (inotify_init1(IN_CLOEXEC) >= 0) {
  }
  return usedUp(EMFILE);
}

/// Leaves some instances, and no watch for them.
int inotifyWatches() {
  const std::size_t instances = std::max<std::size_t>(sysctl("inotify/max_user_instances"), 16) - 8;
  const std::size_t each = sysctl("inotify/max_user_watches") / instances + 1;
  std::vector<std::string> files;
  const auto skips = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator("/usr", skips)) {
    if (files.size() == each) break;
    if (!entry.is_symlink()) files.push_back(entry.path());
  }
  for (std::size_t i = 0; i < instances; ++i) {
    const int instance = inotify_init1(IN_CLOEXEC);
    for (const std::string& file : files) {
      if (inotify_add_watch(instance, file.c_str(), IN_DELETE_SELF) < 0 && errno != EACCES) {
        return usedUp(ENOSPC);
      }
    }
  }
  return EOVERFLOW;
}

int pipes() {
  constexpr int kPipe = 1 << 20;
  for (int i = 0; i < 16'000; ++i) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
    if (fcntl(ends[0], F_SETPIPE_SZ, kPipe) < 0) return usedUp(EPERM);
  }
  return EOVERFLOW;
}

/// More than any of our programs may have descriptors: what is under way is compared with that.
int descriptorsUnderWay() {
  constexpr std::size_t kInAMessage = 250;
  std::array<int, 2> pair{};
  std::vector<char> control(CMSG_SPACE(kInAMessage * sizeof(int)));
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  for (int i = 0; i < 40; ++i) {
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return errno;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(kInAMessage * sizeof(int));
    std::fill_n(reinterpret_cast<int*>(CMSG_DATA(header)), kInAMessage, pair[0]);
    if (sendmsg(pair[0], &message, MSG_DONTWAIT) < 0) return errno;
  }
  return 0;
}

struct Quota {
  const char* name;
  int (*useUp)();
  bool ofHardware = false;  ///< which says that nothing is left for it
};
void PrintTo(const Quota& row, std::ostream* out) {
  *out << row.name;
}

class TenantsQuotas : public NetdCase,
                      public testing::WithParamInterface<std::tuple<uid_t, Quota>> {
public:
  static std::string nameOf(uid_t user) {
    if (user == kNetdUid) return "Netd";
    return user == kPlugindUid ? "Plugind" : "Hardware";
  }
};

TEST_P(TenantsQuotas, UsedUpLeaveOurProgramsServingAndStarting) {
  const auto& [user, quota] = GetParam();
  startAll();
  const Tenant tenant(user, quota.useUp);
  ASSERT_EQ(tenant.outcome(), 0) << strerror(tenant.outcome());
  node_->hardware.add({.address = kB, .group = 8});
  ASSERT_TRUE(node_->kubelet.shows(kGpus, {kA, kB})) << node_->said();

  node_->netd.reset();
  node_->killPrivd();
  node_->killPlugind();
  const Tenant again(user, quota.useUp);  // what ours gave back
  ASSERT_EQ(again.outcome(), 0) << strerror(again.outcome());
  ASSERT_TRUE(node_->startPrivd()) << node_->said();
  ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
  startNetd();
  node_->hardware.add({.address = kC, .group = 9});
  EXPECT_TRUE(node_->kubelet.shows(kGpus, {kA, kB, kC})) << node_->said();
  EXPECT_TRUE(node_->kubelet.admit(podOf("p1", kGpus)).admitted) << node_->said();
  EXPECT_EQ(getUntil("/healthz", 200).code, 200) << node_->said();
  const bool isTold = quota.ofHardware && user == kHardwareUid;
  EXPECT_EQ(node_->privd->count("event=directory_unwatched"), isTold ? 1U : 0U) << node_->said();
}

std::string nameOf(const testing::TestParamInfo<std::tuple<uid_t, Quota>>& row) {
  return TenantsQuotas::nameOf(std::get<0>(row.param)) + "_" + std::get<1>(row.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    All, TenantsQuotas,
    testing::Combine(testing::Values(kPlugindUid, kHardwareUid, kNetdUid),
                     testing::Values(Quota{"Keys", keys}, Quota{"Signals", signals},
                                     Quota{"InotifyInstances", inotifyInstances, true},
                                     Quota{"Pipes", pipes},
                                     Quota{"DescriptorsUnderWay", descriptorsUnderWay})),
    nameOf);
// Only hardware has an instance that could watch.
INSTANTIATE_TEST_SUITE_P(Used, TenantsQuotas,
                         testing::Values(std::tuple{kHardwareUid,
                                                    Quota{"InotifyWatches", inotifyWatches, true}}),
                         nameOf);

}  // namespace
}  // namespace vfiogate::test
