#include "tests/bench/bench_command.h"

#include "tests/bench/node_under_test.h"

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
  addJson(app, wish.json);
}

void addJson(CLI::App& app, std::string& file) {
  app.add_option("--json", file, "also write the figures to this file")->type_name("FILE");
}

void addCount(CLI::App& app, const std::string& option, unsigned& count, unsigned most,
              const std::string& meaning) {
  app.add_option(option, count, meaning)->check(CLI::Range(1U, most))->capture_default_str();
}

void writeJson(const std::string& file, const std::function<void(std::ostream&)>& print) {
  if (file.empty()) return;
  std::ofstream out(file);
  print(out);
  out.close();
  if (!out) giveUp(file + " cannot be written");
}

int runBench(const std::string& name, const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << name << ": " << failure.what() << "\n";
    return 1;
  }
}

}  // namespace vfiogate::bench
