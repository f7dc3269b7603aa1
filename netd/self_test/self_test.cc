#include "netd/self_test/self_test.h"

#include "cli/self_test/watched_program.h"
#include "netd/roles/command_line.h"
#include "netd/self_test/played_api.h"
#include "netd/self_test/played_plugind.h"

#include <kj/async-io.h>
#include <kj/compat/http.h>
#include <kj/debug.h>

#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kPatience = 10 * kj::SECONDS;
constexpr auto kGlance = 10 * kj::MILLISECONDS;
constexpr const char* kServerName = "kubernetes.default.svc";

/// Writes a file that everybody may read. Its path.
std::string put(const ScratchDirectory& scratch, const char* name, const std::string& text) {
  const std::string path = scratch.path() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

kj::AutoCloseFd listenSomewhere() {
  auto made = listenOn(ListenAddress::parse("127.0.0.1:0").value());
  if (!made) throw std::runtime_error(made.error());
  return kj::mv(made).value();
}

/// Goes the paths of one role, one step after the other.
class Walk {
public:
  Walk(SelfTest& test, const WatchedProgram& netd, const std::string& directory)
      : test_(test), netd_(netd), plugind_(io_, directory) {}

  void goMetrics(const std::string& address) {
    step("the start of netd metrics");
    kj::Own<kj::AsyncIoStream> stream = dial(address);
    const auto table = kj::HttpHeaderTable::Builder().build();
    auto client = kj::newHttpClient(*table, *stream);
    for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
      step(path);
      auto asked = client->request(kj::HttpMethod::GET, path, kj::HttpHeaders(*table));
      auto response = soon(kj::mv(asked.response));
      if (response.statusCode != 200) {
        throw std::runtime_error("it answers " + std::to_string(response.statusCode));
      }
      soon(response.body->readAllText());
    }
    step("the end of netd metrics");
  }

  void goDra(kj::AutoCloseFd listener, const ThrowawayCertificate& shown) {
    step("the start of netd dra, and plugind is attached to");
    const PlayedApi api(io_, kj::mv(listener), shown);
    auto netd = soon(plugind_.attached());
    step("a claim is asked of the API server");
    auto request = netd.claimRequest();
    request.setDriver("self-test.vfiogate.dev");
    request.setClaimNamespace("default");
    request.setName("self-test");
    soon(request.send().ignoreResult());
    KJ_REQUIRE(api.requests() > 0, "it did not ask the API server");
    step("the end of netd dra");
  }

private:
  void step(const char* name) { test_.steps.emplace_back(name); }
  kj::Timer& timer() { return io_.provider->getTimer(); }

  template <typename T>
  T soon(kj::Promise<T> promise) {
    return timer()
        .timeoutAfter(kPatience, kj::mv(promise))
        .exclusiveJoin(dies<T>())
        .wait(io_.waitScope);
  }
  /// Fails when netd has ended.
  template <typename T>
  kj::Promise<T> dies() {
    return timer().afterDelay(kGlance).then([this]() -> kj::Promise<T> {
      if (netd_.isOver()) return KJ_EXCEPTION(DISCONNECTED, "it has ended");
      return dies<T>();
    });
  }
  /// Again until it listens.
  kj::Own<kj::AsyncIoStream> dial(const std::string& address) {
    auto where = io_.provider->getNetwork().parseAddress(address.c_str()).wait(io_.waitScope);
    const auto end = timer().now() + kPatience;
    for (;;) {
      kj::Maybe<kj::Own<kj::AsyncIoStream>> met;
      const auto missed =
          kj::runCatchingExceptions([&]() { met = where->connect().wait(io_.waitScope); });
      KJ_IF_MAYBE (stream, met) return kj::mv(*stream);
      if (netd_.isOver() || timer().now() >= end) throw std::runtime_error("it does not listen");
      timer().afterDelay(kGlance).wait(io_.waitScope);
    }
  }

  SelfTest& test_;
  const WatchedProgram& netd_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  PlayedPlugind plugind_;
};

template <typename Go>
void walk(SelfTest& test, WatchedProgram& netd, const std::string& directory, Go go) {
  std::string failure;
  KJ_IF_MAYBE (wrong, kj::runCatchingExceptions([&]() {
                 Walk walk(test, netd, directory);
                 go(walk);
               })) {
    failure = wrong->getDescription().cStr();
  }
  netd.stop(test);
  if (test.failure.empty()) test.failure = failure;
}

void tryMetrics(SelfTest& test, const ScratchDirectory& scratch, NetdLine line,
                std::span<const Rule> table) {
  line.plugind = scratch.path() + "/plugind.sock";
  line.listen = ListenAddress::boundTo(listenSomewhere().get());
  WatchedProgram netd(table, [&line, table]() { return serveMetrics(line, table); });
  walk(test, netd, scratch.path(), [&line](Walk& walk) { walk.goMetrics(line.listen->str()); });
}

void tryDra(SelfTest& test, const ScratchDirectory& scratch, NetdLine line,
            std::span<const Rule> table) {
  kj::AutoCloseFd listener = listenSomewhere();
  const auto shown = makeCertificate(kServerName);
  line.plugind = scratch.path() + "/plugind.sock";
  line.node = "self-test";
  line.api = {
      .server = ApiUrl::parse("https://" + ListenAddress::boundTo(listener.get()).str()).value(),
      .token = put(scratch, "token", "self-test"),
      .ca = put(scratch, "ca.crt", shown.certificate),
      .serverName = kServerName};
  WatchedProgram netd(table, [&line, table]() { return serveDra(line, table); });
  walk(test, netd, scratch.path(), [&](Walk& walk) { walk.goDra(kj::mv(listener), shown); });
}

}  // namespace

SelfTest runSelfTest(const NetdLine& line, const NetdTables& tables) {
  SelfTest test;
  try {
    const ScratchDirectory scratch(0755);
    if (line.policyRole != "dra") tryMetrics(test, scratch, line, tables.metrics);
    if (line.policyRole != "metrics" && test.failure.empty()) {
      tryDra(test, scratch, line, tables.dra);
    }
  } catch (const std::exception& error) {
    test.failure = std::string("it cannot be tried (TMPDIR says where): ") + error.what();
  }
  return test;
}

}  // namespace vfiogate
