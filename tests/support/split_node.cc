#include "tests/support/split_node.h"

#include "sim/base/process_status.h"

#include <kj/io.h>

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace vfiogate::test {
namespace {

const char* const kMarker = "0000:00:1f.0";

}  // namespace

sim::PodSpec podOf(const std::string& uid, const std::string& resource, std::size_t count) {
  return {.uid = uid, .initContainers = {}, .containers = {{"compute", {{resource, count}}}}};
}

SplitNode::SplitNode(sim::KubeletOptions options) : kubelet(dir_ / "kubelet", std::move(options)) {
  chmod(dir_.path().c_str(), 0755);
  for (const char* name : {"kubelet", "kubelet/device-plugins"}) {
    std::filesystem::create_directory(dir_.path() / name);
  }
  plugindDirectory("plugind");
}

std::string SplitNode::plugindDirectory(const std::string& name) const {
  std::filesystem::create_directory(dir_ / name);
  if (chown((dir_ / name).c_str(), kPlugindUid, kPlugindUid) != 0) {
    throw std::runtime_error("cannot give a directory to plugind: not root?");
  }
  return dir_ / name;
}

std::vector<std::string> SplitNode::command(const std::string& program,
                                            const std::vector<std::string>& arguments) const {
  // privd's command and its daemon are started alike.
  const std::string who = program == "privd-daemon" ? "privd" : program;
  std::vector<std::string> words;
  if (const auto starter = starters.find(who); starter != starters.end()) words = starter->second;
  words.push_back(builtProgram(program));
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::vector<std::string> SplitNode::privdCommand(const std::string& plugindSocket) const {
  return command("privd-daemon",
                 {"--plugind", plugindSocket, "--sysfs", hardware.sysfs(), "--dev", hardware.dev(),
                  "--kubelet-dir", dir_ / "kubelet", "--state-dir", dir_ / "state", "--audit-log",
                  dir_ / "audit.jsonl", "--uevents", "off", "--rescan", "1"});
}

std::vector<std::string> SplitNode::roleCommand(const std::string& role, const std::string& sysfs,
                                                const std::string& dev, uid_t hardwareUid) const {
  std::vector<std::string> words{builtProgram("privd-" + role), "--plugind", plugindSocket()};
  if (role != "gate") {
    words.insert(words.end(),
                 {"--sysfs", sysfs, "--dev", dev, "--uevents", "off", "--rescan", "1"});
  }
  if (role != "hardware") {
    words.insert(words.end(),
                 {"--plugind-rights", "watch,kubelet,bind", "--state-dir", directory("state")});
  }
  if (role == "gate") words.insert(words.end(), {"--kubelet-dir", directory("kubelet")});
  if (role == "binder") words.insert(words.end(), {"--audit-log", directory("audit.jsonl")});
  if (role == "hardware") {
    const std::string user = std::to_string(hardwareUid);
    words.insert(words.begin(),
                 {"/usr/bin/setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"});
  }
  return words;
}

std::vector<std::string> SplitNode::plugindCommand(const std::string& socket) const {
  return command("plugind", {"--listen", socket, "--config", dir_ / "config.yaml"});
}

SplitNode::Pair::Pair(const SplitNode& node, const std::string& name)
    : plugind(node.plugindCommand(node.plugindDirectory(name) + "/plugind.sock"),
              filteredEnvironment()),
      privd(node.privdCommand(node.directory(name) + "/plugind.sock"), filteredEnvironment()) {}

bool SplitNode::startPrivd(const std::vector<std::string>& more) {
  std::vector<std::string> command = privdCommand(plugindSocket());
  command.insert(command.end(), more.begin(), more.end());
  privd.emplace(command, filteredEnvironment());
  return privd->says("event=started role=daemon");
}

pid_t SplitNode::roleOf(const std::string& role) const {
  return privd ? childRunning(privd->pid(), "privd-" + role) : 0;
}

void SplitNode::signalPrivd(int signal) const {
  for (const std::string& role : kRoles) {
    if (const pid_t process = roleOf(role); process > 0) kill(process, signal);
  }
  kill(privd->pid(), signal);
}

void SplitNode::killPrivd() {
  std::vector<kj::AutoCloseFd> roles;
  for (const std::string& role : kRoles) {
    const pid_t process = roleOf(role);
    if (process > 0) roles.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (process > 0) kill(process, SIGKILL);
  }
  privd.reset();
  for (const kj::AutoCloseFd& role : roles) {
    pollfd ended{role.get(), POLLIN, 0};
    poll(&ended, 1, -1);
  }
}

void SplitNode::killWithRole(const std::string& role) {
  if (const pid_t process = roleOf(role); process > 0) {
    kill(process, SIGKILL);
    privd->wait();
  }
  killPrivd();
}

bool SplitNode::startPlugind(const std::string& config) {
  std::ofstream(dir_ / "config.yaml") << config;
  plugind.emplace(plugindCommand(plugindSocket()), filteredEnvironment());
  return plugind->says("event=started");
}

bool SplitNode::startNetd() {
  netd.emplace(
      command("netd", {"metrics", "--listen", "127.0.0.1:0", "--plugind", plugindSocket()}),
      filteredEnvironment());
  return netd->says("event=started");
}

bool SplitNode::startNetdDra(const std::string& apiServer) {
  netdDra.emplace(command("netd", {"dra", "--plugind", plugindSocket(), "--api-server", apiServer,
                                   "--token", dir_ / "token", "--node", "node-1"}),
                  filteredEnvironment());
  return netdDra->says("event=started");
}

std::uint16_t SplitNode::netdPort() {
  constexpr std::string_view kListen = "listen=127.0.0.1:";
  const std::string said = netd->output();
  const std::size_t at = said.find(kListen);
  if (at == std::string::npos) return 0;
  return static_cast<std::uint16_t>(std::strtoul(&said[at + kListen.size()], nullptr, 10));
}

void SplitNode::addMarker() {
  hardware.add({.address = kMarker, .vendor = 0x1b36, .device = 0x0001, .group = 99});
}

bool SplitNode::seen() {
  // Twice: the scan that sees the first change may have begun before the changes that matter; the
  // one that sees the second began after it.
  for (int i = 0; i < 2; ++i) {
    const long node = ++markerNode_;
    hardware.setAttribute(kMarker, "numa_node", std::to_string(node));
    const auto isThere = [node](const sim::DeviceTable& devices) {
      return devices.nodesOf(kMarker) == std::vector<long>{node};
    };
    if (!kubelet.await(kMarkerResource, isThere)) return false;
  }
  return true;
}

bool SplitNode::tells(const std::string& event, const std::string& device, std::size_t times,
                      std::chrono::seconds patience) {
  return plugind->saysAll({"\"event\":\"" + event + "\"", "\"" + device + "\""}, times, patience);
}

std::string SplitNode::said() {
  std::string all;
  for (auto* process : {&privd, &plugind, &netd, &netdDra}) {
    if (*process) all += (*process)->output();
  }
  return all;
}

}  // namespace vfiogate::test
