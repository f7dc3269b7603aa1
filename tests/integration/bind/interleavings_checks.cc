// What must hold after every step of an interleaving, and at its end.

#include "tests/integration/bind/interleavings.h"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace vfiogate::test {
namespace {

using testing::HasSubstr;

const char* const kAllocated = "plugind has allocated its group to ";
const char* const kUnknown = "what plugind has allocated is not known";
const char* const kBusy = "its drivers are being changed by another process";
const char* const kStateBusy = "another process is writing there";

/// The first of them that was said; empty: none.
std::string reasonIn(const std::string& said) {
  for (const char* reason : {kAllocated, kUnknown, kBusy, kStateBusy}) {
    if (said.find(reason) != std::string::npos) return reason;
  }
  return {};
}

bool concerns(const SeenWrite& write, const std::string& device) {
  return write.text == device || write.attribute.find(device) != std::string::npos;
}

}  // namespace

void Interleavings::check() {
  std::vector<nlohmann::json> taken;
  std::istringstream lines(sim_->command("writes take"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{")) taken.push_back(nlohmann::json::parse(line));
  }
  for (const SeenWrite& write : writesIn(taken)) {
    for (const auto& [uid, has] : pods_) {
      for (const std::string& device : has) {
        EXPECT_FALSE(concerns(write, device))
            << "I1: " << uid << " has it: '" << write.text << "' > " << write.attribute;
      }
    }
    writes_.push_back(write);
  }
  for (const auto& [uid, has] : pods_) {
    for (const std::string& device : has) {
      EXPECT_EQ(driverOf(device), "vfio-pci") << "I1: " << uid << " has " << device;
    }
  }
}

void Interleavings::finish(Command& command) {
  const int code = command.process->wait();
  const std::string said = command.process->outputWhole();
  if (command.killed && code == 128 + SIGKILL) return;
  const bool held = !command.holder.empty() && holderOf(command.device) == command.holder;
  const bool changes = command.verb == "bind" || command.verb == "unbind";
  const bool mayBeDone = !held || command.verb != "unbind";
  if (code == 0 && mayBeDone) return;
  EXPECT_TRUE(changes && code == 1) << command.verb << " " << command.device << ": " << said;
  judgeRefusal(command, said);
}

void Interleavings::judgeRefusal(const Command& command, const std::string& said) {
  const std::string reason = reasonIn(said);
  EXPECT_NE(reason, "") << command.verb << " " << command.device << ": " << said;
  ++said_[reason];
  if (reason == kBusy || reason == kStateBusy) {
    ++busy_;
  } else {
    ++refused_;
  }
}

std::string Interleavings::counts() const {
  std::string text = std::to_string(allocated_) + " of " + std::to_string(lastPod_) +
                     " pods got a device, " + std::to_string(writes_.size()) + " writes";
  for (const auto& [reason, times] : said_) text += "; '" + reason + "' " + std::to_string(times);
  return text;
}

void Interleavings::expectWholeLog() const {
  const Ended verified = BindNode::plain({"audit", "verify", auditFile()});
  EXPECT_EQ(verified.code, 0) << verified.text;
}

/// Nothing was written that no record says before.
void Interleavings::expectIntended() {
  std::set<std::string> announced;
  std::ifstream log(auditFile());
  for (std::string line; std::getline(log, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, false);
    if (!record.is_object() || record.at("kind") != "intent") continue;
    for (const char* list : {"writes", "undo"}) {
      for (const SeenWrite& write : writesIn(record.at(list))) {
        announced.insert(write.attribute + "\n" + write.text);
      }
    }
  }
  for (const SeenWrite& write : writes_) {
    EXPECT_TRUE(announced.contains(write.attribute + "\n" + write.text))
        << "'" << write.text << "' > " << write.attribute;
  }
}

void Interleavings::settle() {
  waitForCommands();
  killBoth();
  check();
  for (const auto& [uid, has] : pods_) {
    for (const std::string& device : has) {
      const Ended refused = run({"unbind", device});
      EXPECT_EQ(refused.code, 1) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr(kAllocated));
      EXPECT_THAT(refused.text, HasSubstr("--override held"));
    }
  }
  check();
  expectWholeLog();
  pods_.clear();
  for (const std::string& device : devices_) {
    const Ended back = run({"unbind", device, "--override", "held"});
    EXPECT_EQ(back.code, 0) << back.text;
    EXPECT_EQ(driverOf(device), "4xxx");
  }
  check();
  expectIntended();
  expectWholeLog();
}

}  // namespace vfiogate::test
