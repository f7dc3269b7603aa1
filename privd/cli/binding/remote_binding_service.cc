#include "privd/cli/binding/remote_binding_service.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/checked_fields.h"
#include "ipc/codec/request_messages.h"

#include <kj/debug.h>

namespace vfiogate {
namespace {

/// The daemon is of this release, and root: what it says wrongly is a bug.
void requireSense(const CheckedFields& fields) {
  KJ_REQUIRE(!fields.error(), "the daemon said what makes no sense", fields.error()->c_str());
}

}  // namespace

Result<kj::Own<BindingService>, std::string> RemoteBindingService::open(kj::AsyncIoContext& io,
                                                                        kj::AutoCloseFd socket) {
  auto session = kj::heap<DaemonSession>(io, kj::mv(socket));
  auto entered = session->enter();
  if (!entered) return Failure{entered.error()};
  auto asked = kj::mv(entered).value().bindingsRequest().send().wait(io.waitScope);
  if (asked.getAnswer().isDenied()) {
    return Failure{std::string("the daemon changes no bindings for this user: are you root?")};
  }
  kj::Own<BindingService> service =
      kj::heap<RemoteBindingService>(io, kj::mv(session), asked.getAnswer().getControl());
  return service;
}

kj::Promise<ChangeReport> RemoteBindingService::change(ChangeOrder order, AuditPeer /*who*/) {
  auto request = control_.changeRequest();
  encode(order, request.initOrder());
  return request.send().then([](auto response) {
    auto report = decode(response.getReport());
    KJ_REQUIRE(report.has_value(), "the daemon said what makes no sense", report.error().what);
    return std::move(report).value();
  });
}

RemoteBindingService::KeepRequest RemoteBindingService::actOn(const Bdf& address) {
  auto request = control_.keepRequest();
  encodeAddress(address, request.initAct().initAddress());
  return request;
}

Result<Done, std::string> RemoteBindingService::send(KeepRequest request) {
  auto response = request.send().wait(io_.waitScope);
  if (response.getFailure().size() > 0) {
    return Failure{std::string(response.getFailure().cStr())};
  }
  return Done{};
}

Result<Done, std::string> RemoteBindingService::exclude(const Bdf& address,
                                                        const std::string& reason,
                                                        const AuditPeer& /*who*/) {
  auto request = actOn(address);
  request.getAct().setExclude(reason);
  return send(kj::mv(request));
}

Result<Done, std::string> RemoteBindingService::release(const Bdf& address,
                                                        const AuditPeer& /*who*/) {
  auto request = actOn(address);
  request.getAct().setRelease();
  return send(kj::mv(request));
}

Result<Done, std::string> RemoteBindingService::forget(const Bdf& address,
                                                       const AuditPeer& /*who*/) {
  auto request = actOn(address);
  request.getAct().setForget();
  return send(kj::mv(request));
}

std::vector<Exclusion> RemoteBindingService::exclusions() {
  auto response = control_.keptRequest().send().wait(io_.waitScope);
  CheckedFields fields;
  std::vector<Exclusion> exclusions;
  fields.each("exclusions", response.getExclusions(), kMaxFunctions,
              [&](schema::KeptExclusion::Reader one) {
                exclusions.push_back({fields.address("address", one.getAddress()),
                                      fields.text("reason", one.getReason()), one.getSince()});
              });
  requireSense(fields);
  return exclusions;
}

std::vector<DeviceIdentity> RemoteBindingService::declared() {
  auto response = control_.keptRequest().send().wait(io_.waitScope);
  CheckedFields fields;
  std::vector<DeviceIdentity> declared;
  fields.each(
      "declared", response.getDeclared(), kMaxFunctions, [&](schema::KeptIdentity::Reader one) {
        declared.push_back(
            {fields.address("address", one.getAddress()), one.getVendor(), one.getDevice()});
      });
  requireSense(fields);
  return declared;
}

}  // namespace vfiogate
