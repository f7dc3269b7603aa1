// The root daemon of vfiogate.

#include "ipc/base/build_info.h"
#include "privd/options/serve_options.h"
#include "privd/serve.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr int kUsage = 2;
constexpr const char* kAbout = R"(the daemon: watches the hardware for plugind
Usage: privd serve [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  --version                   Display program version information and exit
)";
constexpr const char* kOptionFiles =
    "  --options FILE              file with more options: one a line, without the dashes\n";

int misused(const std::string& why) {
  std::cerr << why << "\nRun with --help for more information.\n";
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  vfiogate::ServeOptions options{.build = vfiogate::kBuild};
  const vfiogate::OptionTable table = vfiogate::serveOptions(options);
  const auto isGiven = [&given](const char* name) {
    return std::ranges::find(given, name) != given.end();
  };
  if (isGiven("--help") || isGiven("-h")) {
    std::cout << kAbout << vfiogate::helpOf(table) << kOptionFiles;
    return 0;
  }
  if (isGiven("--version")) {
    std::cout << vfiogate::kBuild.text << "\n";
    return 0;
  }
  const auto arguments =
      vfiogate::expandOptionFiles(given, [](const std::string&) { return true; });
  if (!arguments) return misused(arguments.error());
  if (const auto parsed = vfiogate::parseOptions(table, *arguments); !parsed) {
    return misused(parsed.error());
  }
  return vfiogate::serve(options);
}
