#pragma once
// How netd asks the Kubernetes API: one request, one answer.
// What an API server says of a request that it did not grant. Pure.

#include "ipc/base/result.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// What a server answered, whatever it thought of the request.
struct ApiAnswer {
  unsigned status;
  std::string body;  ///< at most 4 MiB
  std::optional<kj::Duration> retryAfter = std::nullopt;
};

/// Why there was no whole answer, for people.
struct ApiFailure {
  std::string why;
};

enum class ApiMethod : std::uint8_t {
  kGet,
  kPost,
  kPut,
  kPatch,  ///< application/merge-patch+json
  kDelete,
};

/// One try each; never fails with an exception.
class ApiClient {
public:
  /// `path` with its query; `body` is JSON, or empty.
  virtual kj::Promise<Result<ApiAnswer, ApiFailure>> ask(ApiMethod method, const std::string& path,
                                                         std::string body) = 0;
  /// GET of a watch: each line (one JSON document) goes to `line`. Resolves when the stream ends,
  /// with the status and, unless it is 200, the body.
  virtual kj::Promise<Result<ApiAnswer, ApiFailure>> watch(
      const std::string& path, kj::Function<void(const std::string&)> line) = 0;

protected:
  ~ApiClient() = default;
};

/// The message of a Status in `body`, at most 256 bytes; empty where there is none.
std::string statusMessage(std::string_view body);

/// For people: "the API server answers 403: resourceclaims is forbidden".
std::string wordsOf(const ApiAnswer& answer);

}  // namespace vfiogate
