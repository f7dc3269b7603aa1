#include "privd/rpc/servers.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/checked_fields.h"
#include "ipc/codec/request_messages.h"

#include <kj/debug.h>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestReason = 200;

class BindControlServer final : public schema::BindControl::Server {
public:
  BindControlServer(BindingService& service, AuditPeer who,
                    kj::Function<void(kj::StringPtr)> hangUp)
      : service_(service), who_(std::move(who)), hangUp_(kj::mv(hangUp)) {}

protected:
  kj::Promise<void> change(ChangeContext context) override {
    auto order = decode(context.getParams().getOrder());
    if (!order) return refuse("order", order.error().what);
    return service_.change(std::move(order).value(), who_)
        .then([context](const ChangeReport& report) mutable {
          encode(report, context.getResults().initReport());
        });
  }

  kj::Promise<void> keep(KeepContext context) override {
    const auto act = context.getParams().getAct();
    CheckedFields fields;
    const Bdf address = fields.address("address", act.getAddress());
    const std::string reason =
        act.isExclude() ? fields.text("exclude", act.getExclude()) : std::string();
    if (!act.hasAddress()) fields.refuse("address", "is missing");
    if (act.isExclude() && (reason.empty() || reason.size() > kLongestReason)) {
      fields.refuse("exclude", "is no reason of 1 to 200 bytes");
    }
    if (act.which() > schema::KeepAct::FORGET) fields.refuse("which", "is not a known act");
    if (fields.error()) return refuse("act", *fields.error());
    const auto kept = act.isExclude()   ? service_.exclude(address, reason, who_)
                      : act.isRelease() ? service_.release(address, who_)
                                        : service_.forget(address, who_);
    if (!kept) context.getResults().setFailure(cut(kept.error()));
    return kj::READY_NOW;
  }

  kj::Promise<void> kept(KeptContext context) override {
    auto told = context.getResults();
    encodeList(
        service_.exclusions(), kMaxFunctions, [&](auto size) { return told.initExclusions(size); },
        [](const Exclusion& exclusion, schema::KeptExclusion::Builder to) {
          encodeAddress(exclusion.address, to.initAddress());
          to.setReason(cut(exclusion.reason));
          to.setSince(exclusion.since);
        });
    encodeList(
        service_.declared(), kMaxFunctions, [&](auto size) { return told.initDeclared(size); },
        [](const DeviceIdentity& declared, schema::KeptIdentity::Builder to) {
          encodeAddress(declared.address, to.initAddress());
          to.setVendor(declared.vendor);
          to.setDevice(declared.device);
        });
    return kj::READY_NOW;
  }

private:
  kj::Promise<void> refuse(kj::StringPtr what, const std::string& why) {
    hangUp_(kj::str(what, ": ", why.c_str()));
    return KJ_EXCEPTION(FAILED, "it makes no sense", what);
  }

  BindingService& service_;
  const AuditPeer who_;
  kj::Function<void(kj::StringPtr)> hangUp_;
};

}  // namespace

schema::BindControl::Client makeBindControl(BindingService& service, AuditPeer who,
                                            kj::Function<void(kj::StringPtr why)> hangUp) {
  return kj::heap<BindControlServer>(service, std::move(who), kj::mv(hangUp));
}

}  // namespace vfiogate
