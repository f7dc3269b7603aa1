#include "netd/dra/slices/publish_trouble.h"

#include "netd/dra/api/api_client.h"
#include "netd/dra/api/json_text.h"

#include <algorithm>

namespace vfiogate {
namespace {

using nlohmann::json;

constexpr unsigned kInvalid = 422;
constexpr auto kMostAsked = 60 * kj::SECONDS;

bool isOfCounters(const json& cause) {
  if (!cause.is_object()) return false;
  const auto field = cause.find("field");
  return field != cause.end() && field->is_string() &&
         field->get_ref<const std::string&>().find("consumesCounters") != std::string::npos;
}

}  // namespace

PublishTrouble troubleOf(const char* act, const ApiOutcome& outcome) {
  PublishTrouble trouble{std::string(act) + ": " +
                         (outcome ? wordsOf(*outcome) : outcome.error().why)};
  if (outcome && outcome->retryAfter) trouble.asked = std::min(*outcome->retryAfter, kMostAsked);
  return trouble;
}

bool refusesCounters(const ApiOutcome& outcome) {
  if (!hasStatus(outcome, kInvalid)) return false;
  const auto status = readJsonObject(outcome->body);
  if (!status) return false;
  const json::json_pointer place("/details/causes");
  if (!status->contains(place)) return false;
  const json& causes = status->at(place);
  return causes.is_array() && std::ranges::any_of(causes, isOfCounters);
}

}  // namespace vfiogate
