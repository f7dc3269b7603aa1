#pragma once
// A node in one process's hands: the real privd, plugind and netd, locked down, between a directory
// laid out like sysfs and the stand-in kubelet.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/support/fake_sysfs.h"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::test {

constexpr uid_t kPlugindUid = 64532;
constexpr uid_t kNetdUid = 64533;

/// A pod of one container, "compute", that asks for `count` of one resource.
sim::PodSpec podOf(const std::string& uid, const std::string& resource, std::size_t count = 1);

/// Made with its directories and without hardware; nothing runs yet. Needs root. The members may be
/// used at will; what `start...` did not start is null.
class SplitNode {
public:
  inline static const std::array<std::string, 3> kRoles{"hardware", "gate", "binder"};
  inline static const std::string kMarkerResource = "vfiogate.dev/1b36_0001";

  explicit SplitNode(sim::KubeletOptions options = {});

  /// Each waits until the program says that it has started; false if it does not.
  bool startPrivd(const std::vector<std::string>& more = {});
  bool startPlugind(const std::string& config);
  /// `netd metrics` on a free port of 127.0.0.1.
  bool startNetd();
  /// `netd dra` of the Node "node-1", with the token in the file "token" of this directory.
  bool startNetdDra(const std::string& apiServer);
  /// Where it listens; 0: nowhere.
  std::uint16_t netdPort();
  /// Kills it and what it started, and waits for their ends.
  void killPrivd();
  /// To privd and what it started: one that is stopped is so in all of its roles.
  void signalPrivd(int signal) const;
  /// The process of "gate", "hardware" or "binder"; 0: there is none.
  pid_t roleOf(const std::string& role) const;
  /// Kills one of its roles, and waits for the end of all, which follows.
  void killWithRole(const std::string& role);
  void killPlugind() { plugind.reset(); }

  /// Adds the device that seen() changes, in a resource of its own.
  void addMarker();
  /// Waits until the kubelet was shown all changes of the hardware that came before the call.
  bool seen();
  /// True as soon as plugind's journal has this event about the device, `times` times.
  bool tells(const std::string& event, const std::string& device, std::size_t times = 1,
             std::chrono::seconds patience = kPatience);

  /// All that the programs said, for failure texts.
  std::string said();

  std::string directory(const std::string& name) const { return dir_ / name; }
  /// What starts a program, by the program's name: words before its own command. Of `netd` too.
  std::map<std::string, std::vector<std::string>> starters;
  /// One of privd's processes by itself, as in its container, with the right to bind.
  std::vector<std::string> roleCommand(const std::string& role, const std::string& sysfs,
                                       const std::string& dev, uid_t hardwareUid = 64531) const;
  /// The program's command behind its starter's.
  std::vector<std::string> command(const std::string& program,
                                   const std::vector<std::string>& arguments) const;

  std::string plugindSocket() const { return dir_ / "plugind/plugind.sock"; }

private:
  std::vector<std::string> privdCommand(const std::string& plugindSocket) const;
  std::vector<std::string> plugindCommand(const std::string& socket) const;
  /// For plugind's socket.
  std::string plugindDirectory(const std::string& name) const;

  TempDir dir_;          // before all that lives in it
  long markerNode_ = 0;  ///< where the marker was said to be last; its health never changes

public:
  /// A second privd and plugind on the same node, with a socket of their own.
  struct Pair {
    /// Started; `name` is that of a new directory.
    Pair(const SplitNode& node, const std::string& name);
    ChildProcess plugind;
    ChildProcess privd;
  };

  FakeSysfs hardware;
  sim::KubeletSim kubelet;
  std::optional<ChildProcess> privd;
  std::optional<ChildProcess> plugind;
  std::optional<ChildProcess> netd;
  std::optional<ChildProcess> netdDra;
};

}  // namespace vfiogate::test
