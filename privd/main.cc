// The root daemon of vfiogate.

#include "ipc/base/build_info.h"
#include "privd/options/serve_options.h"
#include "privd/serve.h"

#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr int kUsage = 2;
constexpr const char* kAbout = R"(the daemon: watches the hardware for plugind
Usage: privd serve [OPTIONS]
)";

int misused(const std::string& why) {
  std::cerr << "privd serve: " << why << "\nRun 'privd serve --help' for what there is.\n";
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  vfiogate::ServeOptions options{.build = vfiogate::kBuild};
  vfiogate::OptionTable table = vfiogate::serveOptions(options);
  table.push_back(vfiogate::fileOption(table));
  if (const std::string words =
          vfiogate::helpOrVersion(given, kAbout, table, vfiogate::kBuild.text);
      !words.empty()) {
    std::cout << words;
    return 0;
  }
  if (const auto parsed = vfiogate::parseOptions(table, given); !parsed) {
    return misused(parsed.error());
  }
  return vfiogate::serve(options, given);
}
