#include "ipc/codec/request_messages.h"

#include "ipc/codec/checked_fields.h"

#include <set>

namespace vfiogate {
namespace {

Backend readHandles(CheckedFields& fields, schema::Handles handles) {
  switch (handles) {
    case schema::Handles::AUTO:
      return Backend::kAuto;
    case schema::Handles::LEGACY:
      return Backend::kLegacy;
    case schema::Handles::IOMMUFD:
      return Backend::kIommufd;
    case schema::Handles::BOTH:
      return Backend::kBoth;
  }
  fields.refuse("handles",
                "is " + std::to_string(static_cast<unsigned>(handles)) + ", not a known way");
  return Backend::kAuto;
}

StaticSpec readSpec(CheckedFields& fields, schema::StaticSpec::Reader in) {
  StaticSpec spec{.resource = fields.text("resource", in.getResource()),
                  .backend = readHandles(fields, in.getHandles()),
                  .wholeGroups = in.getWholeGroups(),
                  .devices = {}};
  fields.each("devices", in.getDevices(), kMostSpecDevices, [&](schema::Address::Reader one) {
    const Bdf address = fields.address("address", one);
    const bool ordered = spec.devices.empty() || spec.devices.back() < address;
    if (!ordered) fields.refuse("address", "is out of order or named twice: " + address.str());
    spec.devices.push_back(address);
  });
  return spec;
}

ClaimDevice readDevice(CheckedFields& fields, schema::ClaimDevice::Reader in) {
  ClaimDevice device{.address = fields.address("address", in.getAddress()),
                     .resource = fields.text("resource", in.getResource()),
                     .backend = readHandles(fields, in.getHandles()),
                     .hands = {},
                     .request = fields.text("request", in.getRequest())};
  fields.each("hands", in.getHands(), kMostClaimHands, [&](schema::Address::Reader hand) {
    device.hands.insert(fields.address("address", hand));
  });
  return device;
}

}  // namespace

Result<std::vector<StaticSpec>, DecodeError> decode(StaticSpecList::Reader in) {
  CheckedFields fields;
  std::vector<StaticSpec> specs;
  std::set<std::string> names;
  std::size_t devices = 0;
  fields.each("specs", in, kMostSpecs, [&](schema::StaticSpec::Reader one) {
    specs.push_back(readSpec(fields, one));
    devices += specs.back().devices.size();
    if (!names.insert(specs.back().resource).second) fields.refuse("resource", "is named twice");
    if (devices > kMostSpecDevices) fields.refuse("devices", "are too many in all");
  });
  if (fields.error()) return Failure{DecodeError{*fields.error()}};
  return specs;
}

Result<ClaimSpec, DecodeError> decode(schema::ClaimSpec::Reader in) {
  CheckedFields fields;
  ClaimSpec spec{.driver = fields.text("driver", in.getDriver()),
                 .uid = fields.text("uid", in.getUid()),
                 .claimNamespace = fields.text("claimNamespace", in.getClaimNamespace()),
                 .name = fields.text("name", in.getName()),
                 .devices = {},
                 .metadata = in.getMetadata(),
                 .podClaimName = fields.text("podClaimName", in.getPodClaimName()),
                 .pool = fields.text("pool", in.getPool())};
  fields.each("devices", in.getDevices(), kMostClaimDevices, [&](schema::ClaimDevice::Reader one) {
    spec.devices.push_back(readDevice(fields, one));
  });
  if (fields.error()) return Failure{DecodeError{*fields.error()}};
  if (auto fault = faultIn(spec)) return Failure{DecodeError{*std::move(fault)}};
  return spec;
}

}  // namespace vfiogate
