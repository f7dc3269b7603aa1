#pragma once
// Claims, pools and reports between RPC messages (ipc/schema/dra.capnp) and their types.
//
// Encoding keeps to the bounds that decoding insists on: what is longer is cut, what is more is
// left out. Error of a decoding: the first field that is wrong, such as "devices[3].vfio is 9,
// unknown".

#include "ipc/api/api_claim.h"
#include "ipc/api/device_pool.h"
#include "ipc/base/result.h"
#include "ipc/schema/dra.capnp.h"

#include <cstdint>
#include <string>

namespace vfiogate {

/// The API's own limits, and what fits into one message.
constexpr std::uint32_t kMostResults = 32;
constexpr std::uint32_t kMostPoolDevices = 4096;
constexpr std::uint32_t kMostAttributes = 32;
constexpr std::uint32_t kMostTaints = 16;
constexpr std::uint32_t kMostConsumed = 64;  // counters of one device: two sets of 32
constexpr std::uint32_t kMostPoolCounterSets = 4096;
constexpr std::uint32_t kMostSetCounters = 32;

void encode(const ClaimAnswer& answer, schema::ClaimAnswer::Builder to);
Result<ClaimAnswer, std::string> decode(schema::ClaimAnswer::Reader from);

void encode(const DevicePool& pool, schema::DevicePool::Builder to);
Result<DevicePool, std::string> decode(schema::DevicePool::Reader from);

void encode(const KeptFields& kept, schema::KeptFields::Builder to);
KeptFields decode(schema::KeptFields::Reader from);

void encode(const ClaimReport& report, schema::ClaimReport::Builder to);
Result<ClaimReport, std::string> decode(schema::ClaimReport::Reader from);

}  // namespace vfiogate
