// privd's gate: the root process that talks to plugind about the kubelet's sockets, CDI specs and
// allocations. The daemon starts it.

#include "ipc/base/build_info.h"
#include "ipc/base/hex.h"
#include "privd/gate/serve_gate.h"
#include "privd/options/serve_options.h"

#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr int kUsage = 2;
constexpr std::uint32_t kNone = 0;
constexpr const char* kAbout =
    R"(the gate: has the kubelet's sockets, CDI specs and the record of allocations for plugind
Usage: privd-gate [OPTIONS], by privd serve with its own
)";

int misused(const std::string& why) {
  std::cerr << "privd-gate: " << why << "\nprivd serve starts this program.\n";
  return kUsage;
}

/// The only option that is not one of `privd serve`.
vfiogate::Option controlOption(std::uint32_t& fd) {
  const auto take = [&fd](const std::string& text) -> std::string {
    const auto number = vfiogate::parseDecimal(text);
    if (!number || *number <= 2) return "'" + text + "' is no descriptor above 2";
    fd = *number;
    return {};
  };
  return {"--control-fd", "the daemon's socket", "UINT", "", take};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  vfiogate::ServeOptions options;
  std::uint32_t control = kNone;
  vfiogate::OptionTable table = vfiogate::serveOptions(options);
  table.push_back(vfiogate::fileOption(table));
  table.push_back(controlOption(control));
  if (const std::string words =
          vfiogate::helpOrVersion(given, kAbout, table, vfiogate::kBuild.text);
      !words.empty()) {
    std::cout << words;
    return 0;
  }
  if (const auto parsed = vfiogate::parseOptions(table, given); !parsed) {
    return misused(parsed.error());
  }
  if (control == kNone) return misused("--control-fd is missing");
  return vfiogate::serveGate(options, static_cast<int>(control));
}
