#include "plugind/dra/serve/dra_server.h"

#include "plugind/dra/serve/dra_service.h"

namespace vfiogate {

DraServer::DraServer(const std::string& driver, DraEvents& events, const LoopDeps& loop,
                     uid_t kubeletUid)
    : v1_(draService(DraVersion::kV1, events, loop.taskQueue)),
      v1beta1_(draService(DraVersion::kV1beta1, events, loop.taskQueue)),
      health_(events, loop.taskQueue),
      server_(driver, {v1_.get(), v1beta1_.get(), &health_}, loop, kubeletUid),
      registration_(driver, events, loop, kubeletUid) {}

void DraServer::serveOn(kj::AutoCloseFd service) {
  server_.listenOn(kj::mv(service));
}

void DraServer::registerOn(kj::AutoCloseFd registration, const std::string& endpoint) {
  registration_.listenOn(kj::mv(registration), endpoint);
}

}  // namespace vfiogate
