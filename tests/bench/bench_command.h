#pragma once
// What the command lines of all benches share.

#include <CLI/CLI.hpp>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace vfiogate::bench {

struct CommonWish {
  std::vector<unsigned> devices;
  std::string json;
};

/// --devices and --json; `wish.devices` as it is when called is the default.
void addCommonOptions(CLI::App& app, CommonWish& wish);

/// An option that counts something, from 1 to `most`.
void addCount(CLI::App& app, const std::string& option, unsigned& count, unsigned most,
              const std::string& meaning);

/// --json alone.
void addJson(CLI::App& app, std::string& file);

/// Writes the figures to `file`, unless its name is empty. Throws if that cannot be done.
void writeJson(const std::string& file, const std::function<void(std::ostream&)>& print);

/// The exit status: 0 after `work`, 1 with the reason on standard error if it threw.
int runBench(const std::string& name, const std::function<void()>& work);

}  // namespace vfiogate::bench
