#include "netd/dra/api/api_versions.h"

#include "netd/dra/api/api_client.h"
#include "netd/dra/api/json_text.h"

#include <algorithm>

namespace vfiogate {
namespace {

using nlohmann::json;

bool isNamed(const json& resource, const char* name) {
  if (!resource.is_object()) return false;
  const auto found = resource.find("name");
  return found != resource.end() && *found == name;
}

bool has(const json& resources, const char* name) {
  return std::ranges::any_of(resources, [name](const json& each) { return isNamed(each, name); });
}

}  // namespace

std::string groupVersionOf(ResourceApi api) {
  return std::string("resource.k8s.io/") + nameOf(api);
}

std::string pathOf(ResourceApi api) {
  return "/apis/" + groupVersionOf(api);
}

Result<bool, std::string> isServed(const ApiOutcome& answer) {
  if (!answer) return Failure{answer.error().why};
  if (hasStatus(answer, kApiNotFound)) return false;
  if (!isGood(answer)) return Failure{wordsOf(*answer)};
  const auto list = readJsonObject(answer->body);
  if (!list) return Failure{"what it serves " + list.error()};
  const auto resources = list->find("resources");
  if (resources == list->end() || !resources->is_array()) {
    return Failure{std::string("it does not say what it serves")};
  }
  // A version may have other things alone: v1alpha3 of 1.33 has rules for taints.
  return has(*resources, "resourceclaims") && has(*resources, "resourceslices");
}

}  // namespace vfiogate
