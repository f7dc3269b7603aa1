#include "netd/metrics/pages.h"

#include <array>
#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kPrometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::array<std::pair<std::string_view, Place>, 3> kPlaces{
    {{"/metrics", Place::kMetrics}, {"/healthz", Place::kHealth}, {"/readyz", Place::kReady}}};

Page plain(unsigned code, const char* reason, const std::string& text) {
  return {code, reason, kPlain, text + "\n"};
}

Page unavailable(const std::string& why) {
  return plain(503, "Service Unavailable", why);
}

}  // namespace

Place placeOf(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  for (const auto& [name, place] : kPlaces) {
    if (path == name) return place;
  }
  return Place::kElsewhere;
}

std::string_view nameOf(Place place) {
  for (const auto& [name, known] : kPlaces) {
    if (place == known) return name;
  }
  return "other";
}

Page pageOf(unsigned code, const char* reason) {
  return plain(code, reason, std::to_string(code) + " " + reason);
}

std::optional<Page> refusalOf(const Asked& asked) {
  if (asked.place == Place::kElsewhere) {
    return plain(404, "Not Found", "here are /metrics, /healthz and /readyz");
  }
  if (!asked.reads) return plain(405, "Method Not Allowed", "GET or HEAD");
  if (asked.hasBody) return plain(413, "Payload Too Large", "no body is taken");
  return std::nullopt;
}

Page pageFor(Place place, const PlugindAnswer& answer, const std::string& own) {
  if (place == Place::kMetrics) {
    return {200, "OK", kPrometheus, (answer ? answer->metrics : "") + own};
  }
  if (!answer) return unavailable(answer.error());
  if (place == Place::kHealth) return plain(200, "OK", "ok");
  return answer->ready ? plain(200, "OK", answer->why) : unavailable(answer->why);
}

}  // namespace vfiogate
