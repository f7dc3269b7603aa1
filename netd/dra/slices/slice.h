#pragma once
// One ResourceSlice, as it shall be or as the API server has it.

#include "ipc/api/device_pool.h"

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

}  // namespace vfiogate
