#include "plugind/dra/serve/registration_server.h"

#include "plugind/dra/serve/dra_service.h"

#include <utility>

namespace vfiogate {

RegistrationService::RegistrationService(const std::string& driver, DraEvents& events,
                                         std::shared_ptr<TaskQueue> taskQueue)
    : events_(events), taskQueue_(std::move(taskQueue)) {
  info_.set_type("DRAPlugin");
  info_.set_name(driver);
  // The kubelet takes the first that it knows. It does not look for the last, and opens the stream
  // all the same.
  info_.add_supported_versions("v1.DRAPlugin");
  info_.add_supported_versions("v1beta1.DRAPlugin");
  info_.add_supported_versions("v1alpha1.DRAResourceHealth");
}

void RegistrationService::setEndpoint(const std::string& endpoint) {
  const std::lock_guard lock(mutex_);
  info_.set_endpoint(endpoint);
}

void RegistrationService::tellInfo(Responder& responder) {
  const std::lock_guard lock(mutex_);
  responder.finish(info_);
}

void RegistrationService::takeStatus(Responder& responder,
                                     const pluginregistration::RegistrationStatus& told) const {
  const bool registered = told.plugin_registered();
  std::string error = registered ? "" : wireText(told.error());
  if (!registered && error.empty()) error = "the kubelet gave no reason";
  // Not sent: nobody is left who wants to know.
  static_cast<void>(taskQueue_->post([events = &events_, registered, error = std::move(error)]() {
    events->registrationTold(registered, error);
  }));
  responder.finish(pluginregistration::RegistrationStatusResponse());
}

namespace {

Methods methodsOf(const std::shared_ptr<RegistrationService>& service) {
  const std::string start = "/pluginregistration.Registration/";
  using Opened = std::shared_ptr<CallObserver>;
  Methods methods;
  methods[start + "GetInfo"] = methodOf<pluginregistration::InfoRequest>(
      [service](const auto& responder, const auto& /*request*/) {
        service->tellInfo(*responder);
        return Opened();
      });
  methods[start + "NotifyRegistrationStatus"] = methodOf<pluginregistration::RegistrationStatus>(
      [service](const auto& responder, const auto& told) {
        service->takeStatus(*responder, told);
        return Opened();
      });
  return methods;
}

}  // namespace

RegistrationServer::RegistrationServer(const std::string& driver, DraEvents& events,
                                       const LoopDeps& loop, uid_t kubeletUid)
    : service_(std::make_shared<RegistrationService>(driver, events, loop.taskQueue)),
      server_(driver + "/registration", methodsOf(service_), loop, kubeletUid) {}

void RegistrationServer::listenOn(kj::AutoCloseFd listener, const std::string& endpoint) {
  service_->setEndpoint(endpoint);
  server_.listenOn(kj::mv(listener));
}

}  // namespace vfiogate
