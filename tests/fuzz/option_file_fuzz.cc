// Whatever stands in the file of options: privd refuses it in words, or what it was told is
// within what its options take.

#include "ipc/base/kube_names.h"
#include "privd/options/program_options.h"
#include "tests/fuzz/fuzz_input.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace vfiogate {
namespace {

/// A file that holds the input, under a name.
std::string fileWith(std::string_view text) {
  static const int kFile = memfd_create("options", MFD_CLOEXEC);
  require(ftruncate(kFile, 0) == 0);
  require(pwrite(kFile, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return "/proc/self/fd/" + std::to_string(kFile);
}

void checkTaken(const ServeOptions& options) {
  require(options.plugindUid != 0);
  require(options.draDriver.empty() || isDraDriver(options.draDriver));
  for (const std::string& prefix : options.resourcePrefixes) {
    require(prefix.find('/') != std::string::npos);
  }
}

void readFile(std::string_view text) {
  ServeOptions options;
  const OptionTable table = serveOptions(options);
  const std::string problem = fileOption(table).take(fileWith(text));
  if (problem.empty()) checkTaken(options);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vfiogate::readFile(vfiogate::textOf(data, size));
  return 0;
}
