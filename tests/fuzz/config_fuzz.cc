// Whatever stands in plugind's configuration: it is refused in words of one line each, at most 20
// and a count; or what takes effect, printed whole, is read as the same settings again.

#include "plugind/config/config.h"
#include "tests/fuzz/fuzz_input.h"

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  const auto config = parseConfig(textOf(data, size), "plugind.yaml");
  if (!config) {
    require(!config.error().empty() && config.error().size() <= 21);
    for (const ConfigRemark& problem : config.error()) require(isOneLine(problem.str()));
    return 0;
  }
  for (const ConfigRemark& warning : config->warnings) require(isOneLine(warning.str()));
  const auto again = parseConfig(printEffective(*config), "effective");
  require(again && again->settings == config->settings);
  require(again->effective == config->effective);
  return 0;
}
