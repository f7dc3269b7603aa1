#pragma once
// In which version of resource.k8s.io the API server is spoken to.
// Where each version of resource.k8s.io is, and whether a server has it. Pure.

#include "ipc/api/resource_api.h"
#include "ipc/base/result.h"
#include "netd/dra/api/api_client.h"
#include "netd/dra/api/api_retry.h"

#include <kj/async.h>
#include <kj/function.h>

#include <optional>
#include <string>

namespace vfiogate {

/// "resource.k8s.io/v1beta1"
std::string groupVersionOf(ResourceApi api);
/// "/apis/resource.k8s.io/v1beta1": a server answers with what it serves below it.
std::string pathOf(ResourceApi api);

/// Whether the answer to GET of pathOf() says that claims and slices are served. Error: for people,
/// why it says neither.
Result<bool, std::string> isServed(const ApiOutcome& answer);

/// The newest that the server serves, by its own word. It is asked when a version is needed first,
/// and again by whoever sees that it may be another server now: 404 for a thing of the version that
/// was served, a watch that broke.
class ApiVersions {
public:
  /// Error: for people.
  using Found = Result<ResourceApi, std::string>;

  /// `told` hears of each version that was not the one before.
  explicit ApiVersions(kj::Function<void(ResourceApi)> told) : told_(kj::mv(told)) {}

  /// What was found last, or else the server's word.
  kj::Promise<Found> current(ApiClient& client);
  /// The server's word as of now; borrows `client`. Never fails.
  kj::Promise<Found> ask(ApiClient& client) { return askFrom(client, 0); }

private:
  kj::Promise<Found> askFrom(ApiClient& client, std::size_t index);
  void found(ResourceApi api);

  kj::Function<void(ResourceApi)> told_;
  std::optional<ResourceApi> known_;
};

}  // namespace vfiogate
