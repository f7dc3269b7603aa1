#pragma once
// The Kubernetes API as plugind meets it behind netd, with files in its place.

#include "ipc/schema/dra.capnp.h"

#include <string>

namespace vfiogate::test {

struct ApiFiles {
  std::string claims;  ///< read at each question: claim_lines.h
  std::string pool;  ///< written anew at each publish, a line a device: NAME and its taint, or "-"
};

/// Keeps all fields of a pool. What plugind reports of a claim is a line on standard output.
class PlayedApi final : public schema::ApiServer::Server {
public:
  /// `node`: the pool's name, which every claim's devices have.
  PlayedApi(ApiFiles files, std::string node);

  kj::Promise<void> claim(ClaimContext context) override;
  kj::Promise<void> publish(PublishContext context) override;
  kj::Promise<void> report(ReportContext context) override;

private:
  const ApiFiles files_;
  const std::string node_;
};

}  // namespace vfiogate::test
