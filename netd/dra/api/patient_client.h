#pragma once
// An API client that tries again, and says in the log when the server is away.

#include "netd/dra/api/api_client.h"
#include "netd/dra/api/api_retry.h"

#include <kj/function.h>
#include <kj/timer.h>

#include <string>

namespace vfiogate {

/// Each request is tried as api_retry.h says; a watch once, since whoever watches has to list again
/// first.
class PatientClient final : public ApiClient {
public:
  /// Draws a number in [0, 1).
  using Draw = kj::Function<double()>;

  /// Borrows `once` and `timer`.
  PatientClient(ApiClient& once, kj::Timer& timer, Draw draw)
      : once_(once), timer_(timer), draw_(kj::mv(draw)) {}

  kj::Promise<ApiOutcome> ask(ApiMethod method, const std::string& path, std::string body) override;
  kj::Promise<ApiOutcome> watch(const std::string& path,
                                kj::Function<void(const std::string&)> line) override;

private:
  kj::Promise<ApiOutcome> tryIt(ApiMethod method, std::string path, std::string body,
                                unsigned tries);
  void tell(const ApiOutcome& outcome);

  ApiClient& once_;
  kj::Timer& timer_;
  Draw draw_;
  std::string toldAway_;     ///< empty: the server answers
  std::string toldRefused_;  ///< the last refusal in the log
};

}  // namespace vfiogate
