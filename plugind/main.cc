// plugind: speaks to the kubelet, without any power of its own.

#include "cli/common_options.h"
#include "plugind/cli/ask.h"
#include "plugind/cli/command_line.h"
#include "plugind/cli/partitions.h"
#include "plugind/config/config.h"
#include "plugind/loop/serve.h"
#include "plugind/self_test/self_test.h"
#include "seccomp/plugind_rules.h"
#include "seccomp/print_policy.h"
#include "seccomp/startup_rules.h"

#include <kj/exception.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace vfiogate {
namespace {

constexpr int kFailed = 1;

int printPolicy(const std::string& form) {
  const Policy policy{"plugind", kPlugindRules, kPlugindStartupRules};
  std::cout << (form == "yaml" ? yamlOf(policyAs("json", policy)) : policyAs(form, policy));
  return 0;
}

int tellSelfTest(const CommandLine& line) {
  const SelfTest test = runSelfTest(line);
  std::cout << selfTestAs(line.policyForm, "plugind", test);
  return test.failure.empty() ? 0 : kFailed;
}

void tell(const std::vector<ConfigRemark>& remarks) {
  for (const ConfigRemark& remark : remarks) std::cerr << "plugind: " << remark.str() << "\n";
}

int printSets(const CommandLine& line) {
  const bool piped = line.partitionTable == "-";
  std::ifstream file;
  if (!piped) file.open(line.partitionTable, std::ios::binary);
  std::string why = file || piped ? "" : std::string("cannot be opened: ") + std::strerror(errno);
  if (why.empty()) {
    std::istream& in = piped ? std::cin : file;
    const std::string table{std::istreambuf_iterator<char>(in), {}};
    const auto sets = setsOfPartitions(table, line.partitions);
    if (sets) std::cout << *sets;
    if (!sets) why = sets.error();
  }
  if (why.empty()) return 0;
  std::cerr << "plugind: " << (piped ? "standard input" : line.partitionTable) << ": " << why
            << "\n";
  return kFailed;
}

int run(const CommandLine& line) {
  if (line.act == CommandLine::Act::kPrintPolicy) return printPolicy(line.policyForm);
  if (line.act == CommandLine::Act::kSelfTest) return tellSelfTest(line);
  const bool asks = line.act == CommandLine::Act::kStatus ||
                    line.act == CommandLine::Act::kExplain ||
                    line.act == CommandLine::Act::kProbe || line.act == CommandLine::Act::kFragment;
  if (asks) return ask(line);
  if (line.act == CommandLine::Act::kPartitions) return printSets(line);
  auto config = readConfigFile(line.configFile);
  if (!config) {
    tell(config.error());
    return kFailed;
  }
  if (line.act == CommandLine::Act::kServe) return serve(line, std::move(config).value());
  tell(config->warnings);
  tell(config->hints);
  std::cout << printEffective(*config);
  return 0;
}

}  // namespace
}  // namespace vfiogate

int main(int argc, char** argv) {
  try {
    const auto line = vfiogate::readCommandLine(argc, argv, vfiogate::kBuild);
    if (line) return vfiogate::run(*line);
    (line.error().exitCode == 0 ? std::cout : std::cerr) << line.error().text;
    return line.error().exitCode;
  } catch (const kj::Exception& failure) {
    std::cerr << "plugind: " << failure.getDescription().cStr() << "\n";
  } catch (const std::exception& failure) {
    std::cerr << "plugind: " << failure.what() << "\n";
  }
  return 1;
}
