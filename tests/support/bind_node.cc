#include "tests/support/bind_node.h"

#include "sim/base/process_status.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace vfiogate::test {
namespace {

std::unique_ptr<sim::SimProcess> startSim(const TempDir& dir, const std::string& topology) {
  const char* const source = std::getenv("VFIOGATE_SOURCE");
  for (const char* name : {"node", "run", "plugind", "kubelet", "kubelet/device-plugins"}) {
    std::filesystem::create_directory(dir.path() / name);
  }
  auto started = sim::SimProcess::start(
      {.program = builtProgram("sim-sysfs"),
       .topology = std::string(source == nullptr ? "." : source) + "/tests/topologies/" + topology,
       .directory = dir / "node",
       .control = dir / "ctl",
       .nodes = "open"});
  if (!started) throw std::runtime_error(started.error());
  return std::move(started).value();
}

std::string firstLineOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string linkTarget(const std::filesystem::path& path) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(path, error);
  return error ? "none" : target.filename().string();
}

std::vector<nlohmann::json> jsonLines(const std::string& text) {
  std::vector<nlohmann::json> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{")) values.push_back(nlohmann::json::parse(line));
  }
  return values;
}

std::string withoutNewline(std::string text) {
  if (text.ends_with("\n")) text.pop_back();
  return text;
}

}  // namespace

std::vector<SeenWrite> writesIn(const nlohmann::json& list) {
  std::vector<SeenWrite> seen;
  for (const auto& value : list) {
    seen.push_back({value.at("attribute"), withoutNewline(value.at("text"))});
  }
  return seen;
}

nlohmann::json Ended::json() const {
  const std::size_t from = ("\n" + text).find("\n{");
  const std::size_t end = text.rfind("\n}");
  if (from == std::string::npos || end == std::string::npos) return nullptr;
  return nlohmann::json::parse(text.substr(from, end + 2 - from), nullptr, false);
}

void PrintTo(const SeenWrite& write, std::ostream* out) {
  *out << "'" << write.text << "' > " << write.attribute;
}

BindNode::BindNode(const std::string& topology) : sim_(startSim(dir_, topology)) {}

BindNode::~BindNode() {
  ctl("unhang");
}

std::vector<std::string> BindNode::places() const {
  return {"--sysfs",     sim_->sysfs(),  "--dev",       sim_->dev(),
          "--state-dir", dir_ / "state", "--audit-log", auditFile()};
}

std::vector<std::string> BindNode::command(std::vector<std::string> words) const {
  const std::vector<std::string> more = places();
  words.insert(words.begin(), builtProgram("privd"));
  words.insert(words.begin() + 2, more.begin(), more.end());
  return words;
}

std::unique_ptr<ChildProcess> BindNode::begin(const std::vector<std::string>& words) const {
  return std::make_unique<ChildProcess>(command(words), filteredEnvironment());
}

Ended BindNode::change(const std::vector<std::string>& words) const {
  const auto process = begin(words);
  const int code = process->wait();
  return {code, process->outputWhole()};
}

Ended BindNode::plain(const std::vector<std::string>& words) {
  std::vector<std::string> all{builtProgram("privd")};
  all.insert(all.end(), words.begin(), words.end());
  ChildProcess process(all, filteredEnvironment());
  const int code = process.wait();
  return {code, process.outputWhole()};
}

void BindNode::launch(const std::vector<std::string>& more) {
  // Without a plugind it is the binder that is there.
  std::vector<std::string> words{"serve", "--uevents", "off", "--rescan", "1"};
  words.insert(words.end(), more.begin(), more.end());
  daemon_ = begin(words);
}

bool BindNode::serve(const std::vector<std::string>& more) {
  launch(more);
  return daemon_->says("event=started");
}

void BindNode::kill() {
  // The binder, too, which would bring to its end what it has begun.
  const std::vector<pid_t> roles = childrenOf(daemon_->pid());
  daemon_->signal(SIGKILL);
  for (const pid_t role : roles) ::kill(role, SIGKILL);
  daemon_->wait();
  killed_.push_back(std::move(daemon_));
}

std::string BindNode::driverOf(const std::string& address) const {
  return linkTarget(sim_->sysfs() + "/bus/pci/devices/" + address + "/driver");
}

TreeState BindNode::state() const {
  TreeState state;
  for (const auto& entry :
       std::filesystem::directory_iterator(sim_->sysfs() + "/bus/pci/devices")) {
    const std::string address = entry.path().filename();
    state[address] = driverOf(address) + " " + firstLineOf(entry.path() / "driver_override");
  }
  return state;
}

std::vector<SeenWrite> BindNode::writes() const {
  return writesIn(jsonLines(ctl("writes")));
}

std::vector<nlohmann::json> BindNode::audit() const {
  std::ifstream file(auditFile());
  std::ostringstream text;
  text << file.rdbuf();
  return jsonLines(text.str());
}

std::vector<SeenWrite> BindNode::intended() const {
  std::vector<SeenWrite> all;
  for (const auto& record : audit()) {
    if (record.at("kind") != "intent") continue;
    for (auto& write : writesIn(record.at("writes"))) all.push_back(std::move(write));
  }
  return all;
}

}  // namespace vfiogate::test
