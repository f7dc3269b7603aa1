#pragma once
// A simulated node and the shipped privd on it, with a daemon or without, as an operator has them.

#include "sim/base/child_process.h"
#include "sim/base/temp_dir.h"
#include "sim/sysfs/own_namespaces.h"
#include "sim/sysfs/sim_process.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace vfiogate::test {

using sim::enterOwnNamespaces;

/// What a command came to.
struct Ended {
  int code = -1;
  std::string text;  ///< standard output and error
  /// The JSON value that it printed, also between other lines; null if there is none.
  nlohmann::json json() const;
};

/// One write into sysfs, as the simulation took it or as the audit log has it.
struct SeenWrite {
  std::string attribute;  ///< below sysfs
  std::string text;
  bool operator==(const SeenWrite&) const = default;
};
/// From a list of objects of that form; without the line's end.
std::vector<SeenWrite> writesIn(const nlohmann::json& list);
void PrintTo(const SeenWrite& write, std::ostream* out);

/// Of each device, by its address: its driver, a blank, its driver_override.
using TreeState = std::map<std::string, std::string>;

class BindNode {
public:
  /// `topology`: the name of a file in tests/topologies. Throws if it cannot be brought up.
  explicit BindNode(const std::string& topology);
  /// Lifts what hangs, so that all can end.
  ~BindNode();
  BindNode(const BindNode&) = delete;
  BindNode& operator=(const BindNode&) = delete;

  /// Runs `privd WORDS` on this node's sysfs, state, audit log and daemon, to its end.
  Ended change(const std::vector<std::string>& words) const;
  /// The same, and does not wait.
  std::unique_ptr<ChildProcess> begin(const std::vector<std::string>& words) const;
  /// Runs `privd WORDS` and nothing else.
  static Ended plain(const std::vector<std::string>& words);

  /// Starts the daemon; false if it does not say that it serves.
  bool serve(const std::vector<std::string>& more = {});
  /// Starts one and waits for nothing.
  void launch(const std::vector<std::string>& more = {});
  /// Kills the daemon (SIGKILL) and waits for its end; a write of its that hangs stays.
  void kill();
  ChildProcess& daemon() { return *daemon_; }

  /// A command to the simulation.
  std::string ctl(const std::string& line) const { return sim_->command(line); }
  TreeState state() const;
  std::string driverOf(const std::string& address) const;
  /// Since the start or `writes clear`, in the order of beginning.
  std::vector<SeenWrite> writes() const;

  std::vector<nlohmann::json> audit() const;
  /// Of all intents in the audit log.
  std::vector<SeenWrite> intended() const;
  std::string auditFile() const { return dir_ / "audit.jsonl"; }
  std::string stateDir() const { return dir_ / "state"; }
  std::string file(const std::string& name) const { return dir_ / name; }
  std::string sysfs() const { return sim_->sysfs(); }
  std::string dev() const { return sim_->dev(); }

private:
  std::vector<std::string> command(std::vector<std::string> words) const;
  std::vector<std::string> places() const;

  TempDir dir_;
  std::unique_ptr<sim::SimProcess> sim_;
  // Those killed before stay until the end: a write of theirs that hangs has their output open.
  std::vector<std::unique_ptr<ChildProcess>> killed_;
  std::unique_ptr<ChildProcess> daemon_;
};

}  // namespace vfiogate::test
