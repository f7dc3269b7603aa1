// The simulation against a real kernel: the same script, the same answers. The kernel's were taken
// in the virtual machine, where machine_conformance_test takes them again.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/sysfs/sim_process.h"

namespace vfiogate::sim {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "." : value;
}

std::vector<std::string> linesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(Simulation, AnswersAsTheKernelDid) {
  if (::access("/dev/fuse", R_OK | W_OK) != 0 || ::geteuid() != 0) {
    GTEST_SKIP() << "needs root and /dev/fuse";
  }
  ASSERT_EQ(::unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
  ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  const std::string guest = variable("VFIOGATE_SOURCE") + "/tests/machine/guest/";
  const auto directory = std::filesystem::temp_directory_path() /
                         ("sim_conformance_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(directory / "mnt");
  {
    const auto started =
        SimProcess::start({variable("VFIOGATE_BIN") + "/sim-sysfs",
                           variable("VFIOGATE_SOURCE") + "/tests/topologies/machine.yaml",
                           directory / "mnt", directory / "ctl"});
    ASSERT_TRUE(started.has_value()) << started.error();
    const std::string command = variable("VFIOGATE_MACHINE") + "/sysfs_script --root " +
                                (*started)->sysfs() + " --control " + (directory / "ctl").string() +
                                " < " + guest + "conformance.script > " +
                                (directory / "answers").string();
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c)
  }
  const auto expected = linesOf(guest + "conformance.expected");
  const auto answers = linesOf(directory / "answers");
  ASSERT_GT(expected.size(), 200U);
  EXPECT_EQ(answers.size(), expected.size());
  for (std::size_t at = 0; at < std::min(answers.size(), expected.size()); ++at) {
    EXPECT_EQ(answers[at], expected[at]) << "line " << at + 1;
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace vfiogate::sim
