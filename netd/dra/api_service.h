#pragma once
// What plugind asks of the Kubernetes API, answered.

#include "ipc/api/api_claim.h"
#include "ipc/schema/dra.capnp.h"
#include "netd/dra/claims/claim_fetcher.h"
#include "netd/dra/claims/claim_reporter.h"
#include "netd/dra/slices/slice_publisher.h"

#include <kj/timer.h>

#include <string>

namespace vfiogate {

/// One for each connection to plugind. A claim is read anew for each question, within 8 s: the
/// kubelet waits 45 s for all that comes of it.
class ApiService final : public schema::ApiServer::Server {
public:
  struct Deps {
    ApiClient& client;  ///< tries again by itself
    ApiVersions& versions;
    kj::Timer& timer;
    ClaimReporter::Clock clock;
    kj::Own<SlicePublisher> pools;
  };
  explicit ApiService(Deps deps);

protected:
  kj::Promise<void> claim(ClaimContext context) override;
  kj::Promise<void> publish(PublishContext context) override;
  kj::Promise<void> report(ReportContext context) override;

private:
  ClaimFetcher fetcher_;
  kj::Timer& timer_;
  kj::Own<SlicePublisher> pools_;
  ClaimReporter reporter_;
};

}  // namespace vfiogate
