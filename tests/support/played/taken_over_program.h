#pragma once
// The program of tests/support/taken_over, run in plugind's place on a node.

#include "tests/support/split_node.h"

#include <chrono>
#include <filesystem>
#include <string>

namespace vfiogate::test {

/// For an attack, which lasts some seconds, under sanitizers on a busy machine.
inline constexpr std::chrono::seconds kForAnAttack{120};

/// Why the attack that does so is not made.
inline constexpr const char* kFillsTheRecord =
    "the gate reads the names of up to 4,096 files for each group: minutes with ThreadSanitizer";

class TakenOverProgram {
public:
  /// Begins `attack`.
  TakenOverProgram(SplitNode& node, const std::string& attack)
      : process_({std::filesystem::read_symlink("/proc/self/exe").parent_path() / "taken_over",
                  node.plugindSocket(), attack, std::to_string(node.privd ? node.privd->pid() : 0)},
                 filteredEnvironment()) {}

  ChildProcess& process() { return process_; }
  std::string said() { return process_.output(); }

  /// Waits for its end. What it says that it got, without "(number)"; or how it ended.
  std::string got(std::chrono::seconds patience) {
    constexpr const char* kGot = "got: ";
    constexpr int kBySigsys = 128 + 31;
    const bool told = process_.saysAll({kGot}, 1, patience);
    const int code = process_.wait();
    if (!told) return code == kBySigsys ? "SIGSYS" : "ended with " + std::to_string(code);
    std::string text = said();
    text = text.substr(text.find(kGot) + 5);
    text = text.substr(0, text.find('\n'));
    const std::size_t number = text.rfind(" (");
    return number == std::string::npos ? text : text.substr(0, number);
  }

private:
  ChildProcess process_;
};

}  // namespace vfiogate::test
