#pragma once
// ResourceSlices and a Node in memory, behind the API client: for tests without a network.

#include "ipc/api/resource_api.h"
#include "netd/dra/api/api_client.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Answers at once, as the API server does: versions, conflicts, preconditions, a watch. A fault on
/// order comes before the request is looked at, unless it says that the answer alone is lost.
class ModelApi final : public ApiClient {
public:
  using Outcome = Result<ApiAnswer, ApiFailure>;

  kj::Promise<Outcome> ask(ApiMethod method, const std::string& path, std::string body) override;
  kj::Promise<Outcome> watch(const std::string& path,
                             kj::Function<void(const std::string&)> line) override;

  // ---- For the test ----

  struct Fault {
    std::string begin;    ///< of "METHOD path"
    unsigned status = 0;  ///< 0: no answer
    unsigned times = 1;
    bool done = false;  ///< the request is carried out, its answer is lost
    bool throws = false;
  };
  void order(Fault fault) { faults_.push_back(std::move(fault)); }

  /// "METHOD path" of each request, without its query; a watch is "WATCH".
  std::vector<std::string> journal;
  std::vector<std::string> watchPaths;
  std::vector<std::string> listPaths;
  std::map<std::string, nlohmann::json> slices;
  std::string nodeUid = "node-uid";
  /// The one version that is served; slices are as it has them.
  ResourceApi served = ResourceApi::kV1;
  /// Counters have to be in the slice of their devices, as before Kubernetes 1.35.
  bool countersBeside = false;
  /// What every fault with a status asks for.
  std::optional<kj::Duration> retryAfter;
  /// 0: all in one; else so many in a page.
  std::size_t pageSize = 0;
  bool dropsCounters = false;
  /// So many slices are deleted as soon as they are stored, and the watch tells before the answer
  /// does.
  std::size_t sabotages = 0;

  std::size_t count(const std::string& begin) const;
  /// As others do it; a watch is told.
  void put(nlohmann::json slice);
  void remove(const std::string& name);
  /// What the kubelet does at its start.
  void wipe();
  void say(const std::string& line);
  void endWatch(Outcome outcome);
  bool isWatched() const { return ended_.get() != nullptr; }

private:
  Outcome answer(ApiMethod method, const std::string& path, const std::string& body);
  Outcome list(const std::string& path);
  Outcome store(const std::string& body, bool create);
  Outcome erase(const std::string& name, const std::string& body);
  void told(const char* type, const nlohmann::json& slice);

  std::uint64_t version_ = 100;
  std::deque<Fault> faults_;
  kj::Maybe<kj::Function<void(const std::string&)>> line_;
  kj::Own<kj::PromiseFulfiller<Outcome>> ended_;
};

}  // namespace vfiogate::test
