#include "netd/roles/command_line.h"

#include "netd/base/become_nobody.h"
#include "netd/base/log_line.h"
#include "netd/dra/api/api_address.h"
#include "netd/dra/api/api_versions.h"
#include "netd/dra/api/kj_api_client.h"
#include "netd/dra/api/patient_client.h"
#include "netd/dra/api/tls_connector.h"
#include "netd/dra/api/watched_file.h"
#include "netd/dra/api_service.h"
#include "netd/dra/plugind_attachment.h"
#include "netd/dra/slices/slice_publisher.h"
#include "rootless/start.h"
#include "seccomp/landlock.h"
#include "seccomp/load_filter.h"

#include <kj/async-io.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::size_t kMostToken = std::size_t{64} << 10U;
constexpr std::uint64_t kMostDraMemory = std::uint64_t{112} << 20U;

class Dice {
public:
  double draw() { return std::uniform_real_distribution<double>(0, 1)(engine_); }

private:
  std::mt19937_64 engine_{std::random_device{}()};
};

std::chrono::sys_seconds wallClock() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// What is prepared while files and resolvers can still be asked.
struct ApiWays {
  std::vector<SocketTarget> targets;
  TlsConnector tls;
  WatchedFile token;
  Dice dice;
};

/// All that lives until the end.
class DraRole final : private PublisherNews {
public:
  DraRole(const NetdLine& line, ApiWays& ways, kj::AsyncIoContext& io)
      : timer_(io.provider->getTimer()),
        dice_(ways.dice),
        node_(line.node),
        address_(*io.lowLevelProvider, std::move(ways.targets), connectorOf(line, ways)),
        once_({timer_, address_, line.api.server->authority(), tokenOf(line, ways)}),
        client_(once_, timer_, [this]() { return dice_.draw(); }),
        attachment_({*io.lowLevelProvider, timer_, [this]() { return dice_.draw(); },
                     [this]() { return apiServer(); }, line.plugind, line.node}) {}

  kj::Promise<void> run() { return attachment_.run(); }

private:
  static kj::Maybe<TlsConnector&> connectorOf(const NetdLine& line, ApiWays& ways) {
    if (!line.api.server->tls) return nullptr;
    return ways.tls;
  }
  /// Nothing secret goes over a connection that anybody on this machine may serve.
  static kj::Maybe<WatchedFile&> tokenOf(const NetdLine& line, ApiWays& ways) {
    if (!line.api.server->tls) return nullptr;
    return ways.token;
  }
  /// One for each connection to plugind: what it keeps in the API server ends with that.
  schema::ApiServer::Client apiServer() {
    auto slices = kj::heap<SlicePublisher>(SlicePublisher::Deps{
        once_, versions_, timer_, *this, node_, [this]() { return dice_.draw(); }});
    return kj::heap<ApiService>(
        ApiService::Deps{client_, versions_, timer_, &wallClock, kj::mv(slices)});
  }
  static void tellVersion(ResourceApi api) {
    netdLog(NetdEvent::kApiVersion, {{"version", groupVersionOf(api)}});
  }
  void poolStored(std::size_t slices, std::size_t writes) override {
    netdLog(NetdEvent::kPoolStored, {{"slices", slices}, {"writes", writes}});
  }
  void poolTroubled(const std::string& why) override {
    netdLog(NetdEvent::kPoolTroubled, {{"why", why}});
  }

  kj::Timer& timer_;
  Dice& dice_;
  const std::string node_;
  ApiAddress address_;
  KjApiClient once_;
  PatientClient client_;
  ApiVersions versions_{&tellVersion};
  PlugindAttachment attachment_;
};

/// Files are read where token and certificates are replaced, behind links, too; and nowhere else.
Landlocked confineDra(const ApiLine& api) {
  std::vector<kj::AutoCloseFd> directories;
  std::vector<OpenPlace> places;
  for (const std::filesystem::path file : {api.ca, api.token}) {
    std::error_code notThere;
    for (const auto& path : {file, std::filesystem::weakly_canonical(file, notThere)}) {
      const int fd = open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0) continue;
      directories.emplace_back(fd);
      places.push_back({fd, kReadFile});
    }
  }
  return confine(places, api.server->port);
}

}  // namespace

int serveDra(const NetdLine& line, std::span<const Rule> filter) {
  startNetdLog(line.logForm);
  auto targets = resolveApi(*line.api.server);
  if (!targets) return startFailed("resolve " + line.api.server->str(), targets.error());
  ApiWays ways{std::move(targets).value(),
               TlsConnector(line.api.ca, line.api.serverName),
               WatchedFile(line.api.token, kMostToken),
               {}};
  if (line.api.server->tls) {
    // OpenSSL reads its configuration now, or never.
    if (const auto opened = ways.tls.open(); !opened) return startFailed("ca", opened.error());
  }
  if (const auto failure = becomeNobody(line.user, {}, kMostDraMemory)) {
    return startFailed("drop", failure->str());
  }
  captureEndSignals();
  auto io = kj::setupAsyncIo();
  auto toldToEnd = whenToldToEnd(io);
  const uid_t uid = geteuid();
  const Landlocked confined = confineDra(line.api);
  if (confined.failure) return startFailed("landlock", confined.failure->str());
  if (const auto failure = loadFilter(filter)) return startFailed("filter", failure->str());

  DraRole role(line, ways, io);
  netdLog(NetdEvent::kStarted, {{"version", line.build.version},
                                {"commit", line.build.commit},
                                {"date", line.build.date},
                                {"api_server", line.api.server->str()},
                                {"plugind", line.plugind},
                                {"node", line.node},
                                {"uid", uid},
                                {"landlock", confined.abi}});
  toldToEnd.exclusiveJoin(role.run()).wait(io.waitScope);
  netdLog(NetdEvent::kEnding, {{"why", "signal"}});
  std::_Exit(0);
}

}  // namespace vfiogate
