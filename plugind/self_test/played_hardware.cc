#include "plugind/self_test/played_roles.h"

#include "ipc/codec/snapshot_codec.h"
#include "plugind/self_test/played_privd.h"

#include <utility>

namespace vfiogate {
namespace {

Snapshot oneDevice() {
  const Bdf address = ScratchPlaces::device();
  PciDevice device{.address = address};
  device.vendor = std::uint16_t{0x10de};
  device.device = std::uint16_t{0x2684};
  device.classCode = 0x030000;
  device.headerType = std::uint8_t{0};
  device.driver = "vfio-pci";
  device.vfioDev = 0;
  device.group = IommuGroupId(7);
  IommuGroup group{.id = IommuGroupId(7), .type = "DMA", .noIommu = false, .groupNode = true};
  group.use = GroupUse::kIdle;
  group.members.push_back(address);
  Snapshot hardware;
  hardware.controlNode = true;
  hardware.vfioPci = true;
  hardware.devices.emplace(address, std::move(device));
  hardware.groups.emplace(group.id, std::move(group));
  return hardware;
}

class PlayedGroup final : public schema::GroupControl::Server {
protected:
  kj::Promise<void> reread(RereadContext context) override {
    encode(oneDevice(), context.getResults().initAnswer().initSeen(), noControl);
    return kj::READY_NOW;
  }
};

class PlayedSubscription final : public schema::Subscription::Server {};

class PlayedSession final : public schema::Session::Server {
protected:
  kj::Promise<void> watch(WatchContext context) override {
    auto request = context.getParams().getObserver().changedRequest();
    encode(Update{1, 1, oneDevice()}, request.initUpdate(), [](const IommuGroup& /*group*/) {
      return kj::Maybe<schema::GroupControl::Client>(kj::heap<PlayedGroup>());
    });
    context.getResults().setSubscription(kj::heap<PlayedSubscription>());
    told_ = request.send().ignoreResult().eagerlyEvaluate([](kj::Exception&&) {});
    return kj::READY_NOW;
  }

private:
  kj::Promise<void> told_ = nullptr;
};

class PlayedHandshake final : public schema::Handshake::Server {
protected:
  kj::Promise<void> enter(EnterContext context) override {
    context.getResults().initAnswer().setSession(kj::heap<PlayedSession>());
    return kj::READY_NOW;
  }
};

}  // namespace

schema::Handshake::Client playedHardware() {
  return kj::heap<PlayedHandshake>();
}

}  // namespace vfiogate
