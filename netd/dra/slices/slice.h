#pragma once
// One ResourceSlice, as it shall be or as the API server has it.
// ResourceSlices as JSON of each version of resource.k8s.io. Pure.

#include "ipc/api/device_pool.h"
#include "ipc/api/resource_api.h"
#include "ipc/base/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace vfiogate {

/// The Node that a slice belongs to: it goes when that goes.
struct SliceOwner {
  std::string name;
  std::string uid;

  friend bool operator==(const SliceOwner&, const SliceOwner&) = default;
};

/// What a slice says to those who allocate devices.
struct SliceSpec {
  std::string driver;
  std::string node;
  std::string pool;
  std::int64_t generation = 0;
  std::int64_t sliceCount = 0;  ///< of the pool, at this generation
  std::map<std::string, PoolDevice> devices;
  std::map<std::string, std::set<std::string>> counterSets;
  std::string strange;  ///< the whole as JSON, where it has something that we never write

  friend bool operator==(const SliceSpec&, const SliceSpec&) = default;
};

struct Slice {
  std::string name;
  std::string uid;              ///< empty: it is not stored yet
  std::string resourceVersion;  ///< the same
  std::optional<SliceOwner> owner;
  std::string otherMetadata;  ///< what else stands in its metadata, as JSON: kept at every write
  SliceSpec spec;

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The whole object, as a create or an update sends it.
nlohmann::json jsonOf(const Slice& slice, ResourceApi api);

/// Of an object that the API server sent. Error: for people, why it is no stored slice. Nothing in
/// its spec is an error: what cannot be understood makes it `strange`.
Result<Slice, std::string> sliceFrom(const nlohmann::json& object, ResourceApi api);

}  // namespace vfiogate
