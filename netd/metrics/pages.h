#pragma once
// Pure: which answer a request gets.

#include "netd/metrics/plugind_news.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

enum class Place : std::uint8_t { kMetrics, kHealth, kReady, kElsewhere };

/// Of a request's target: "/metrics", with or without "?...". Never fails.
Place placeOf(std::string_view target);
/// The label of the counter: "/metrics", ..., "other".
std::string_view nameOf(Place place);

struct Page {
  unsigned code;
  const char* reason;  ///< "OK"
  const char* type;    ///< Content-Type
  std::string body;
};

/// What can be said of a request.
struct Asked {
  Place place;
  bool reads;    ///< GET or HEAD
  bool hasBody;  ///< sends more than its head
};

/// 404, 405 or 413; none: the request is to be answered with pageFor().
std::optional<Page> refusalOf(const Asked& asked);

/// `place` is not kElsewhere. `own`: netd's own metrics, which say whether plugind answered: they
/// are an answer by themselves. Elsewhere 503 with the reason where plugind did not answer or, for
/// kReady, is not ready.
Page pageFor(Place place, const PlugindAnswer& answer, const std::string& own);

/// A few words about a fault: "400 Bad Request\n".
Page pageOf(unsigned code, const char* reason);

}  // namespace vfiogate
