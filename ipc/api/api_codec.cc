#include "ipc/api/api_codec.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/checked_fields.h"

#include <optional>
#include <utility>

namespace vfiogate {
namespace {

using Seconds = std::chrono::sys_seconds;

/// The value, or what was wrong with it.
template <typename T>
Result<T, std::string> checked(const CheckedFields& fields, T value) {
  if (fields.error()) return Failure{*fields.error()};
  return value;
}

std::optional<std::string> unlessEmpty(std::string text) {
  if (text.empty()) return std::nullopt;
  return text;
}

schema::VfioChoice choiceOf(std::optional<Backend> vfio) {
  if (!vfio) return schema::VfioChoice::RESOURCE;
  switch (*vfio) {
    case Backend::kAuto:
    case Backend::kAutoIommufd:
    case Backend::kNoIommu:
      return schema::VfioChoice::AUTO;
    case Backend::kLegacy:
      return schema::VfioChoice::LEGACY;
    case Backend::kIommufd:
      return schema::VfioChoice::IOMMUFD;
    case Backend::kBoth:
      return schema::VfioChoice::BOTH;
  }
  return schema::VfioChoice::RESOURCE;
}

std::optional<Backend> backendOf(CheckedFields& fields, schema::VfioChoice choice) {
  switch (choice) {
    case schema::VfioChoice::RESOURCE:
      return std::nullopt;
    case schema::VfioChoice::AUTO:
      return Backend::kAuto;
    case schema::VfioChoice::LEGACY:
      return Backend::kLegacy;
    case schema::VfioChoice::IOMMUFD:
      return Backend::kIommufd;
    case schema::VfioChoice::BOTH:
      return Backend::kBoth;
  }
  fields.refuse("vfio", "is no choice that is known here");
  return std::nullopt;
}

schema::ResourceApi wordOf(ResourceApi api) {
  switch (api) {
    case ResourceApi::kV1:
      return schema::ResourceApi::V1;
    case ResourceApi::kV1beta2:
      return schema::ResourceApi::V1BETA2;
    case ResourceApi::kV1beta1:
      break;
  }
  return schema::ResourceApi::V1BETA1;
}

std::optional<ResourceApi> resourceApiOf(schema::ResourceApi word) {
  switch (word) {
    case schema::ResourceApi::V1:
      return ResourceApi::kV1;
    case schema::ResourceApi::V1BETA2:
      return ResourceApi::kV1beta2;
    case schema::ResourceApi::V1BETA1:
      return ResourceApi::kV1beta1;
    case schema::ResourceApi::UNKNOWN:
      break;
  }
  return std::nullopt;  // or a word of a newer netd's
}

void encodeAllocated(const AllocatedDevice& device, schema::AllocatedDevice::Builder to) {
  to.setRequest(cut(device.request));
  to.setPool(cut(device.pool));
  to.setDevice(cut(device.device));
  to.setShareId(cut(device.shareId.value_or("")));
  to.setAdminAccess(device.adminAccess);
  to.getParameters().setVfio(choiceOf(device.parameters.vfio));
  to.getParameters().setBindNever(device.parameters.bindNever);
  to.setBadParameters(cut(device.badParameters));
}

AllocatedDevice readAllocated(CheckedFields& fields, schema::AllocatedDevice::Reader from) {
  AllocatedDevice device;
  device.request = fields.text("request", from.getRequest());
  device.pool = fields.text("pool", from.getPool());
  device.device = fields.text("device", from.getDevice());
  device.shareId = unlessEmpty(fields.text("shareId", from.getShareId()));
  device.adminAccess = from.getAdminAccess();
  device.parameters.vfio = backendOf(fields, from.getParameters().getVfio());
  device.parameters.bindNever = from.getParameters().getBindNever();
  device.badParameters = fields.text("badParameters", from.getBadParameters());
  return device;
}

void encodeValue(const AttributeValue& value, schema::Attribute::Value::Builder to) {
  if (const auto* text = std::get_if<std::string>(&value)) return to.setText(cut(*text));
  if (const auto* number = std::get_if<std::int64_t>(&value)) return to.setInteger(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return to.setFlag(*flag);
  to.setVersion(cut(std::get<VersionText>(value).text));
}

AttributeValue readValue(CheckedFields& fields, schema::Attribute::Value::Reader from) {
  switch (from.which()) {
    case schema::Attribute::Value::TEXT:
      return fields.text("value", from.getText());
    case schema::Attribute::Value::INTEGER:
      return from.getInteger();
    case schema::Attribute::Value::FLAG:
      return from.getFlag();
    case schema::Attribute::Value::VERSION:
      return VersionText{fields.text("value", from.getVersion())};
  }
  fields.refuse("value", "is of no kind that is known here");
  return std::string();
}

void encodeDevice(const std::string& name, const PoolDevice& device,
                  schema::PoolDevice::Builder to) {
  to.setName(cut(name));
  const capnp::uint size = bounded(device.attributes.size(), kMostAttributes);
  auto attributes = to.initAttributes(size);
  auto next = device.attributes.begin();
  for (capnp::uint i = 0; i < size; ++i, ++next) {
    attributes[i].setName(cut(next->first));
    encodeValue(next->second, attributes[i].getValue());
  }
  if (!device.consumes.empty()) {
    to.setCounterSet(cut(device.consumes.begin()->set));
    to.setCounter(cut(device.consumes.begin()->counter));
    const std::vector<CounterName> more(std::next(device.consumes.begin()), device.consumes.end());
    encodeList(
        more, kMostConsumed, [&to](capnp::uint count) { return to.initAlsoConsumes(count); },
        [](const CounterName& counter, schema::ConsumedCounter::Builder out) {
          out.setCounterSet(cut(counter.set));
          out.setCounter(cut(counter.counter));
        });
  }
  encodeList(
      device.taints, kMostTaints, [&to](capnp::uint count) { return to.initTaints(count); },
      [](const PoolTaint& taint, schema::Taint::Builder out) {
        out.setKey(cut(taint.key));
        out.setValue(cut(taint.value));
        out.setSince(taint.since.time_since_epoch().count());
      });
}

PoolDevice readDevice(CheckedFields& fields, schema::PoolDevice::Reader from) {
  PoolDevice device;
  fields.each("attributes", from.getAttributes(), kMostAttributes, [&](auto attribute) {
    std::string name = fields.text("name", attribute.getName());
    device.attributes.insert_or_assign(std::move(name), readValue(fields, attribute.getValue()));
  });
  CounterName consumes{fields.text("counterSet", from.getCounterSet()),
                       fields.text("counter", from.getCounter())};
  if (!consumes.set.empty()) device.consumes.insert(std::move(consumes));
  fields.each("alsoConsumes", from.getAlsoConsumes(), kMostConsumed, [&](auto counter) {
    device.consumes.insert({fields.text("counterSet", counter.getCounterSet()),
                            fields.text("counter", counter.getCounter())});
  });
  fields.each("taints", from.getTaints(), kMostTaints, [&](auto taint) {
    device.taints.push_back({fields.text("key", taint.getKey()),
                             fields.text("value", taint.getValue()),
                             Seconds(std::chrono::seconds(taint.getSince()))});
  });
  return device;
}

void encodeReported(const ReportedDevice& device, schema::ReportedDevice::Builder to) {
  to.setPool(cut(device.pool));
  to.setDevice(cut(device.device));
  to.setShareId(cut(device.shareId.value_or("")));
  to.setReady(device.ready);
  to.setReason(cut(device.reason));
  to.setMessage(cut(device.message));
  to.setAddress(cut(device.address));
}

ReportedDevice readReported(CheckedFields& fields, schema::ReportedDevice::Reader from) {
  return {.pool = fields.text("pool", from.getPool()),
          .device = fields.text("device", from.getDevice()),
          .shareId = unlessEmpty(fields.text("shareId", from.getShareId())),
          .ready = from.getReady(),
          .reason = fields.text("reason", from.getReason()),
          .message = fields.text("message", from.getMessage()),
          .address = fields.text("address", from.getAddress())};
}

}  // namespace

void encode(const ClaimAnswer& answer, schema::ClaimAnswer::Builder to) {
  if (const auto* unread = std::get_if<ClaimUnread>(&answer)) return to.setFailed(cut(unread->why));
  const auto* claim = std::get_if<AllocatedClaim>(&answer);
  if (claim == nullptr) return to.setGone();
  auto found = to.initFound();
  found.setUid(cut(claim->uid));
  found.setAllocated(claim->allocated);
  found.setPodClaimName(cut(claim->podClaimName));
  encodeList(
      claim->devices, kMostResults,
      [&found](capnp::uint count) { return found.initDevices(count); }, encodeAllocated);
}

Result<ClaimAnswer, std::string> decode(schema::ClaimAnswer::Reader from) {
  CheckedFields fields;
  switch (from.which()) {
    case schema::ClaimAnswer::GONE:
      return ClaimAnswer(ClaimGone{});
    case schema::ClaimAnswer::FAILED:
      return checked(fields, ClaimAnswer(ClaimUnread{fields.text("failed", from.getFailed())}));
    case schema::ClaimAnswer::FOUND:
      break;
    default:
      return Failure{std::string("the answer is of no kind that is known here")};
  }
  AllocatedClaim claim;
  const auto found = from.getFound();
  claim.uid = fields.text("uid", found.getUid());
  claim.allocated = found.getAllocated();
  claim.podClaimName = fields.text("podClaimName", found.getPodClaimName());
  fields.each("devices", found.getDevices(), kMostResults,
              [&](auto device) { claim.devices.push_back(readAllocated(fields, device)); });
  return checked(fields, ClaimAnswer(std::move(claim)));
}

void encode(const DevicePool& pool, schema::DevicePool::Builder to) {
  to.setDriver(cut(pool.driver));
  to.setName(cut(pool.name));
  const capnp::uint devices = bounded(pool.devices.size(), kMostPoolDevices);
  auto told = to.initDevices(devices);
  auto next = pool.devices.begin();
  for (capnp::uint i = 0; i < devices; ++i, ++next) {
    encodeDevice(next->first, next->second, told[i]);
  }
  const capnp::uint sets = bounded(pool.counterSets.size(), kMostPoolCounterSets);
  auto toldSets = to.initCounterSets(sets);
  auto set = pool.counterSets.begin();
  for (capnp::uint i = 0; i < sets; ++i, ++set) {
    toldSets[i].setName(cut(set->first));
    const capnp::uint counters = bounded(set->second.size(), kMostSetCounters);
    auto names = toldSets[i].initCounters(counters);
    auto name = set->second.begin();
    for (capnp::uint k = 0; k < counters; ++k, ++name) names.set(k, cut(*name));
  }
}

Result<DevicePool, std::string> decode(schema::DevicePool::Reader from) {
  CheckedFields fields;
  DevicePool pool;
  pool.driver = fields.text("driver", from.getDriver());
  pool.name = fields.text("name", from.getName());
  fields.each("devices", from.getDevices(), kMostPoolDevices, [&](auto device) {
    std::string name = fields.text("name", device.getName());
    pool.devices.insert_or_assign(std::move(name), readDevice(fields, device));
  });
  fields.each("counterSets", from.getCounterSets(), kMostPoolCounterSets, [&](auto set) {
    auto& counters = pool.counterSets[fields.text("name", set.getName())];
    fields.each("counters", set.getCounters(), kMostSetCounters, [&](capnp::Text::Reader counter) {
      counters.insert(fields.text("counter", counter));
    });
  });
  return checked(fields, std::move(pool));
}

void encode(const KeptFields& kept, schema::KeptFields::Builder to) {
  to.setCounters(kept.counters);
  to.setTaints(kept.taints);
  to.setApi(kept.api ? wordOf(*kept.api) : schema::ResourceApi::UNKNOWN);
}

KeptFields decode(schema::KeptFields::Reader from) {
  return {.counters = from.getCounters(),
          .taints = from.getTaints(),
          .api = resourceApiOf(from.getApi())};
}

void encode(const ClaimReport& report, schema::ClaimReport::Builder to) {
  to.setDriver(cut(report.driver));
  to.setClaimNamespace(cut(report.claimNamespace));
  to.setName(cut(report.name));
  to.setUid(cut(report.uid));
  encodeList(
      report.devices, kMostResults, [&to](capnp::uint count) { return to.initDevices(count); },
      encodeReported);
}

Result<ClaimReport, std::string> decode(schema::ClaimReport::Reader from) {
  CheckedFields fields;
  ClaimReport report;
  report.driver = fields.text("driver", from.getDriver());
  report.claimNamespace = fields.text("claimNamespace", from.getClaimNamespace());
  report.name = fields.text("name", from.getName());
  report.uid = fields.text("uid", from.getUid());
  fields.each("devices", from.getDevices(), kMostResults,
              [&](auto device) { report.devices.push_back(readReported(fields, device)); });
  return checked(fields, std::move(report));
}

}  // namespace vfiogate
