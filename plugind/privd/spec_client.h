#pragma once
// Asks privd for CDI specs: the static ones, and those of claims.

#include "ipc/base/result.h"
#include "plugind/privd/privd_view.h"
#include "plugind/privd/session_calls.h"

#include <kj/async.h>

#include <string>
#include <vector>

namespace vfiogate {

/// PrivdLink says what each is. Fails where the connection does.
class SpecClient {
public:
  /// `calls` is borrowed.
  explicit SpecClient(SessionCalls& calls) : calls_(calls) {}

  kj::Promise<SpecAnswer> declareSpecs(const std::vector<StaticSpec>& specs);
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> writeClaimSpec(const ClaimSpec& spec);
  kj::Promise<Result<Done, SpecTrouble>> unlinkClaimSpec(const std::string& uid);
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> claimSpecTexts();

private:
  template <typename Ask>
  kj::PromiseForResult<Ask, schema::Session::Client&> ask(Ask ask);

  SessionCalls& calls_;
};

}  // namespace vfiogate
