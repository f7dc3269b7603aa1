#include "tests/support/seen/process_size.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace vfiogate::test {
namespace {

std::size_t entriesIn(const std::string& directory) {
  const std::filesystem::directory_iterator entries(directory);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

std::string ProcessSize::str() const {
  return std::to_string(residentKib) + " KiB, " + std::to_string(descriptors) + " descriptors, " +
         std::to_string(threads) + " threads";
}

ProcessSize sizeOf(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  ProcessSize size;
  size.descriptors = entriesIn(process + "/fd");
  size.threads = entriesIn(process + "/task");
  std::ifstream status(process + "/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> size.residentKib;
  }
  return size;
}

}  // namespace vfiogate::test
