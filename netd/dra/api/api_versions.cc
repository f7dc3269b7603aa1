#include "netd/dra/api/api_versions.h"

#include <utility>

namespace vfiogate {

kj::Promise<ApiVersions::Found> ApiVersions::current(ApiClient& client) {
  if (known_) return Found(*known_);
  return ask(client);
}

kj::Promise<ApiVersions::Found> ApiVersions::askFrom(ApiClient& client, std::size_t index) {
  if (index == kResourceApis.size()) {
    return Found(
        Failure{std::string("the API server serves claims and slices of resource.k8s.io in "
                            "none of v1, v1beta2 and v1beta1")});
  }
  const ResourceApi api = kResourceApis.at(index);
  return client.ask(ApiMethod::kGet, pathOf(api), {})
      .then([this, &client, api, index](const ApiOutcome& answer) -> kj::Promise<Found> {
        const auto served = isServed(answer);
        if (!served)
          return Found(Failure{"cannot tell what the API server serves: " + served.error()});
        if (!*served) return askFrom(client, index + 1);
        found(api);
        return Found(api);
      });
}

void ApiVersions::found(ResourceApi api) {
  if (std::exchange(known_, api) != api) told_(api);
}

}  // namespace vfiogate
