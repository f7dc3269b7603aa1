#include "plugind/self_test/self_test.h"

#include "cli/self_test/watched_program.h"
#include "plugind/config/config.h"
#include "plugind/loop/serve.h"
#include "plugind/self_test/played_kubelet.h"
#include "plugind/self_test/played_privd.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace vfiogate {
namespace {

constexpr std::chrono::seconds kRegistrationPatience{10};

/// The places in `scratch`, with the directory of plugind's socket, into which root lets `user`.
/// Throws std::system_error.
ScratchPlaces placesIn(const ScratchDirectory& scratch, const Identity& user) {
  ScratchPlaces places{scratch.path()};
  const std::string own = std::filesystem::path(places.plugind()).parent_path();
  std::filesystem::create_directory(own);
  if (geteuid() == 0 && chown(own.c_str(), user.uid, user.gid) != 0) {
    throw std::system_error(errno, std::generic_category(), own);
  }
  return places;
}

Config configOfTheTest() {
  const std::string text =
      std::string("resources: [{name: ") + kScratchResource + ", select: {vendor: \"10de\"}}]\n";
  return parseConfig(text, "self-test").value();
}

/// Goes the paths, one step after the other.
class Walk {
public:
  Walk(std::vector<std::string>& steps, PlayedKubelet& kubelet)
      : steps_(steps), kubelet_(kubelet) {}

  void goAll() {
    step("its start, with privd and kubelet");
    const auto socket = kubelet_.awaitPlugin(kRegistrationPatience);
    if (!socket) throw std::runtime_error("plugind did not register with the kubelet");
    PlayedCalls calls(*socket);
    ask("the plugin's options", calls.options());
    ask("ListAndWatch", calls.watch());
    ask("GetPreferredAllocation", calls.prefer());
    ask("Allocate", calls.allocate());
    ask("PreStartContainer", calls.start());
    step("its end");
  }

private:
  void step(const char* name) { steps_.emplace_back(name); }
  void ask(const char* name, const grpc::Status& answer) {
    step(name);
    if (!answer.ok()) throw std::runtime_error(answer.error_message());
  }

  std::vector<std::string>& steps_;
  PlayedKubelet& kubelet_;
};

/// Goes all paths, and ends plugind.
void walk(SelfTest& test, WatchedProgram& plugind, const ScratchPlaces& places) {
  PlayedKubelet kubelet(places);
  const PlayedPrivd privd(
      places, [&plugind]() { return plugind.isOver(); }, [&kubelet]() { kubelet.plugindLeft(); });
  std::string failure;
  try {
    Walk(test.steps, kubelet).goAll();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  plugind.stop(test);
  if (test.failure.empty()) test.failure = failure;
}

}  // namespace

SelfTest runSelfTest(const CommandLine& line, std::span<const Rule> table) {
  SelfTest test;
  try {
    const ScratchDirectory scratch(0711);
    const ScratchPlaces places = placesIn(scratch, line.user);
    CommandLine own = line;
    own.listen = places.plugind();
    own.hardwareUid = geteuid();
    WatchedProgram plugind(table, [&own, table, us = geteuid()]() {
      return serve(own, configOfTheTest(), {.root = us, .filter = table});
    });
    walk(test, plugind, places);
  } catch (const std::exception& error) {
    test.failure = std::string("it cannot be tried (TMPDIR says where): ") + error.what();
  }
  return test;
}

}  // namespace vfiogate
