#include "sim/node/node.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace vfiogate::sim {
namespace {

/// plugind's, unless told otherwise.
constexpr uid_t kPlugindUid = 64532;

KubeletOptions kubeletOptions(const NodeOptions& options) {
  KubeletOptions wanted;
  wanted.patience = options.patience;
  return wanted;
}

std::string because(const std::string& what, int error) {
  return what + ": " + std::strerror(error);
}

}  // namespace

std::optional<std::string> enterOwnNamespaces() {
  if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) {
    return because("no namespaces of its own (needs root with CAP_SYS_ADMIN)", errno);
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return because("mounts cannot be made private", errno);
  }
  return std::nullopt;
}

Node::Node(NodeOptions options)
    : options_(std::move(options)),
      places_{options_.directory},
      kubelet_(places_.kubelet(), kubeletOptions(options_)) {}

Result<std::unique_ptr<Node>, std::string> Node::start(NodeOptions options) {
  const std::string topology = options.topology;
  std::unique_ptr<Node> node(new Node(std::move(options)));
  if (const auto problem = node->makePlaces()) return Failure{*problem};
  if (!topology.empty()) {
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
      return Failure{because("/dev/fuse", errno) +
                     ": the simulated hardware is a FUSE file system. Load the module (modprobe "
                     "fuse), or give the container the device"};
    }
    auto simulation = SimProcess::start(
        {node->options_.programs + "/sim-sysfs", topology, node->places_.simulation(),
         node->places_.hardwareControl(), node->options_.uevents, node->options_.seed});
    if (!simulation) return Failure{simulation.error()};
    node->simulation_ = std::move(simulation).value();
  }
  node->kubelet_.start();
  if (!node->startPlugind()) return Failure{"plugind did not start:\n" + node->plugind_->output()};
  if (!node->startPrivd()) return Failure{"privd did not start:\n" + node->privd_->output()};
  return node;
}

std::optional<std::string> Node::makePlaces() const {
  std::error_code error;
  for (const std::string& path :
       {places_.directory, places_.directory + "/plugind", places_.kubelet(),
        places_.kubelet() + "/device-plugins", places_.kubelet() + "/pod-resources",
        places_.simulation(), places_.state()}) {
    std::filesystem::create_directories(path, error);
    if (error) return path + ": " + error.message();
    if (chmod(path.c_str(), 0755) != 0) return because(path, errno);
  }
  const std::string plugind = places_.directory + "/plugind";
  if (chown(plugind.c_str(), kPlugindUid, kPlugindUid) != 0) {
    return because(plugind + " cannot be given to plugind (needs root)", errno);
  }
  return std::nullopt;
}

std::unique_ptr<test::ChildProcess> Node::run(const std::string& who,
                                              const std::vector<std::string>& words) const {
  std::vector<std::string> command{options_.programs + "/" + who};
  command.insert(command.end(), words.begin(), words.end());
  test::ChildProcess::Heard heard;
  if (options_.heard) {
    heard = [told = options_.heard, who](const std::string& line) { told(who, line); };
  }
  return std::make_unique<test::ChildProcess>(command, test::filteredEnvironment(),
                                              std::move(heard));
}

bool Node::startPlugind() {
  plugind_.reset();
  plugind_ = run("plugind", {"--listen", places_.plugindSocket(), "--config", options_.config});
  return plugind_->says("event=started");
}

bool Node::startPrivd() {
  privd_.reset();
  privd_ = run("privd", {"serve", "--plugind", places_.plugindSocket(), "--sysfs", sysfs(), "--dev",
                         dev(), "--kubelet-dir", places_.kubelet(), "--state-dir", places_.state(),
                         "--audit-log", places_.state() + "/audit.jsonl", "--rescan",
                         std::to_string(options_.rescan.count())});
  return privd_->says("event=started role=daemon");
}

std::string Node::hardware(const std::string& command) const {
  if (!simulation_) return "error: this node's hardware is the machine's own\n";
  return simulation_->command(command);
}

}  // namespace vfiogate::sim
