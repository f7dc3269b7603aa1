// How long parts of the product take by themselves; with --instructions, under valgrind's
// callgrind, how many instructions.

#include "tests/bench/parts/parts.h"

#include <benchmark/benchmark.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>

namespace vfiogate::bench {
namespace {

void takeTime(benchmark::State& state, const Part& part) {
  const auto running = part.start();
  for ([[maybe_unused]] const auto _ : state) {
    state.PauseTiming();
    running->prepare();
    state.ResumeTiming();
    running->run();
  }
}

/// Runs the part of this name so often after a first time, which has made what is kept; callgrind
/// counts what comes after that.
int runSome(const std::string& name, unsigned times) {
  std::vector<Part> all = parts();
  std::ranges::move(growingParts(), std::back_inserter(all));
  for (const Part& part : all) {
    if (part.name != name) continue;
    const auto running = part.start();
    for (unsigned time = 0; time <= times; ++time) {
      running->prepare();
      if (time > 0) CALLGRIND_START_INSTRUMENTATION;
      running->run();
      if (time > 0) CALLGRIND_STOP_INSTRUMENTATION;
    }
    return 0;
  }
  std::cerr << "parts_bench: there is no part \"" << name << "\"\n";
  return 2;
}

int list(const std::vector<Part>& all) {
  for (const Part& part : all) std::cout << part.name << "\n";
  return 0;
}

int run(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--list") == 0) return list(parts());
  if (argc == 2 && strcmp(argv[1], "--list-growing") == 0) return list(growingParts());
  if (argc == 4 && strcmp(argv[1], "--run") == 0) {
    return runSome(argv[2], static_cast<unsigned>(std::stoul(argv[3])));
  }
  for (const Part& part : parts()) {
    benchmark::RegisterBenchmark(part.name.c_str(),
                                 [part](benchmark::State& state) { takeTime(state, part); });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace vfiogate::bench

int main(int argc, char** argv) {
  try {
    return vfiogate::bench::run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "parts_bench: " << failure.what() << "\n";
    return 1;
  }
}
