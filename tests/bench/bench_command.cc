#include "tests/bench/bench_command.h"

#include "tests/bench/node_under_test.h"

#include <unistd.h>

#include <exception>
#include <fstream>
#include <iostream>

namespace vfiogate::bench {
namespace {

constexpr unsigned kMostDevices = 4096;

}  // namespace

void addCommonOptions(CLI::App& app, CommonWish& wish) {
  app.add_option("--devices", wish.devices, "a node of each size, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(2U, kMostDevices))
      ->capture_default_str();
  app.add_option("--json", wish.json, "also write the figures to this file")->type_name("FILE");
}

void addCount(CLI::App& app, const std::string& option, unsigned& count, unsigned most,
              const std::string& meaning) {
  app.add_option(option, count, meaning)->check(CLI::Range(1U, most))->capture_default_str();
}

void writeJson(const CommonWish& wish, const std::function<void(std::ostream&)>& print) {
  if (wish.json.empty()) return;
  std::ofstream file(wish.json);
  print(file);
  file.close();
  if (!file) giveUp(wish.json + " cannot be written");
}

int runBench(const std::string& name, const std::function<void()>& work) {
  try {
    if (geteuid() != 0) giveUp("needs root: privd serves only as root");
    work();
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << name << ": " << failure.what() << "\n";
    return 1;
  }
}

}  // namespace vfiogate::bench
