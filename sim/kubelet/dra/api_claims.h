#pragma once
// What the kubelet asks an API server for DRA, over HTTP.

#include "sim/kubelet/dra/claim_source.h"

#include <cstdint>
#include <functional>

namespace vfiogate::sim {

/// Of one node, whose API server listens at a port of 127.0.0.1, without TLS.
class ApiClaims final : public ClaimSource, public SliceWiper {
public:
  /// `token` gives the bearer's token for each request; without: none is sent. `version`: of
  /// resource.k8s.io.
  ApiClaims(std::uint16_t port, std::string node, std::function<std::string()> token = {},
            const std::string& version = "v1");

  std::optional<ResourceClaim> get(const std::string& nameSpace, const std::string& name,
                                   std::string& why) override;
  bool wipeNode() override;
  bool wipeDriver(const std::string& driver) override;
  /// What a scheduler does, not a kubelet: the pod may use the claim from now on. What went wrong,
  /// or empty.
  std::string reserve(const std::string& nameSpace, const std::string& name,
                      const std::string& podUid);

private:
  /// The answer's body; null where there is none or it is no success, see `why`.
  std::optional<std::string> ask(const std::string& request, std::string& why,
                                 const std::string& body = {}) const;
  std::string pathOf(const std::string& nameSpace, const std::string& name) const;
  bool wipe(const std::string& selector);

  const std::uint16_t port_;
  const std::string node_;
  const std::function<std::string()> token_;
  const std::string group_;  ///< its path
};

}  // namespace vfiogate::sim
