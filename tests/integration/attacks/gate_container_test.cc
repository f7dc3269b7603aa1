// A taken-over plugind against a gate with the memory of its container, where the files that it has
// written are memory, too: of the record of allocations, and of CDI.

#include "tests/integration/split_case.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/played/taken_over_program.h"
#include "tests/support/sanitizers.h"
#include "tests/support/small_disk.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;

std::size_t numberIn(const fs::path& file, const std::string& key = "") {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stoul(line.substr(key.size()));
  }
  return 0;
}

/// What the chart gives the gate, in MiB.
std::size_t limitOfGate() {
  std::ifstream in(fs::path(std::getenv("VFIOGATE_SOURCE")) / "deploy/helm/vfiogate/values.yaml");
  const std::regex row(" *gate: .*limits: .memory: ([0-9]+)Mi.*");
  std::smatch found;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, found, row)) return std::stoul(found[1]);
  }
  return 0;
}

/// A memory cgroup of its own, of the first or the second version; gone at its end, with nobody in
/// it. Without the right, or the controller, there is none: see made().
class MemoryGroup {
public:
  explicit MemoryGroup(std::size_t mostBytes) {
    const fs::path top = "/sys/fs/cgroup";
    isFirst_ = fs::exists(top / "memory/memory.limit_in_bytes");
    path_ = (isFirst_ ? top / "memory" : top) / ("vfiogate-test-" + std::to_string(getpid()));
    std::error_code none;
    if (!fs::create_directory(path_, none)) return;
    std::ofstream limit(path_ / (isFirst_ ? "memory.limit_in_bytes" : "memory.max"));
    made_ = static_cast<bool>(limit << mostBytes << std::flush);
  }
  // A directory of the kernel's does not go by itself.
  ~MemoryGroup() { rmdir(path_.c_str()); }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool made() const { return made_; }
  /// Who writes its number there is in it.
  fs::path processes() const { return path_ / "cgroup.procs"; }
  std::size_t killed() const {
    return numberIn(path_ / (isFirst_ ? "memory.oom_control" : "memory.events"), "oom_kill ");
  }
  std::size_t peakBytes() const {
    return numberIn(path_ / (isFirst_ ? "memory.max_usage_in_bytes" : "memory.peak"));
  }

private:
  fs::path path_;
  bool isFirst_ = false;
  bool made_ = false;
};

struct WrittenRow {
  const char* name;  ///< of the attack
  const char* gets;
};
void PrintTo(const WrittenRow& row, std::ostream* out) {
  *out << row.name;
}

class GateInItsContainer : public SplitCase, public testing::WithParamInterface<WrittenRow> {
protected:
  void layOut(FakeSysfs& /*hardware*/) override {}
  void SetUp() override {
    SplitCase::SetUp();
    if (!node_) return;
    if (!kOwnAllocator) GTEST_SKIP() << "a sanitizer keeps what was freed";
    for (auto* disk : {&state_, &cdi_}) {
      disk->emplace(node_->directory(disk == &state_ ? "state" : "cdi"), "size=1g,mode=755");
      if (!(*disk)->mounted()) GTEST_SKIP() << "cannot mount: no rights";
    }
  }
  void TearDown() override {
    state_.reset();
    cdi_.reset();
    SplitCase::TearDown();
  }

  std::vector<std::string> gateWithin(const MemoryGroup& group) const {
    const std::string enter = "echo $$ > " + group.processes().string() + " && exec \"$@\"";
    std::vector<std::string> words{"/bin/sh", "-c", enter, "sh"};
    const auto gate = node_->roleCommand("gate", "", "");
    words.insert(words.end(), gate.begin(), gate.end());
    words.insert(words.end(), {"--plugind-rights", "watch,kubelet,cdi", "--cdi-dir",
                               node_->directory("cdi"), "--dra-driver", kDraDriver});
    return words;
  }

  std::optional<SmallDisk> state_;
  std::optional<SmallDisk> cdi_;
};

TEST_P(GateInItsContainer, I10_IsNotEndedForWhatItWrites) {
  const std::size_t mebibytes = limitOfGate();
  ASSERT_GT(mebibytes, 0U);
  const MemoryGroup group(mebibytes << 20U);
  if (!group.made()) GTEST_SKIP() << "no memory cgroup can be made";
  ChildProcess gate(gateWithin(group), filteredEnvironment());
  TakenOverProgram plugind(*node_, GetParam().name);
  EXPECT_EQ(plugind.got(kForAnAttack), GetParam().gets) << plugind.said() << gate.output();
  std::printf("%s: at most %zu KiB of %zu\n", GetParam().name, group.peakBytes() >> 10U,
              mebibytes << 10U);
  EXPECT_EQ(group.killed(), 0U);
  gate.signal(SIGTERM);
  EXPECT_EQ(gate.wait(), 0) << gate.output();
}

INSTANTIATE_TEST_SUITE_P(
    All, GateInItsContainer,
    testing::Values(WrittenRow{"AllocatesAsMuchAsItMay", "1003 of 4096"},
                    WrittenRow{"AllocatesMadeUpDevices", "done 4096, failed 2304"},
                    WrittenRow{"ListsWithoutEnd", "done"},
                    WrittenRow{"DeclaresAsMuchAsItMay", "done 3, failed 29"},
                    WrittenRow{"AllocatesGroupsOfMediatedDevices", "done 7, failed 21"},
                    WrittenRow{"DeclaresBesideAFullRecord", "1003 on record, done 3, failed 29"},
                    WrittenRow{"WritesAsMuchAsItMay",
                               "claim done 256, done 3, failed 29, record done 4096"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate::test
