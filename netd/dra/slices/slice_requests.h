#pragma once
// What is asked of the API server about slices, and how its answers read. Pure.

#include "ipc/api/resource_api.h"
#include "ipc/base/result.h"
#include "netd/dra/api/api_client.h"
#include "netd/dra/slices/slice_plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

struct ApiRequest {
  ApiMethod method = ApiMethod::kGet;
  std::string path;
  std::string body;
};

/// Whose slices, and as what; the API server selects by driver and node.
struct SliceSelector {
  ResourceApi api = ResourceApi::kV1;
  std::string driver;
  std::string node;

  friend bool operator==(const SliceSelector&, const SliceSelector&) = default;
};

/// One page of a list. `next`: empty at first, then what the page before said. `newest`: as of now,
/// which a server has to ask its storage for; else what it has in memory.
std::string sliceListPath(const SliceSelector& selector, const std::string& next, bool newest);
/// What happens after `version`.
std::string sliceWatchPath(const SliceSelector& selector, const std::string& version,
                           std::int64_t seconds);
std::string slicePath(ResourceApi api, const std::string& name);
std::string nodePath(const std::string& node);
ApiRequest requestOf(ResourceApi api, const SliceWrite& write);

struct SlicePage {
  std::vector<Slice> slices;
  std::string version;
  std::string next;  ///< empty: it was the last
};

struct SliceEvent {
  enum class Kind : std::uint8_t { kStored, kDeleted, kBookmark, kExpired };

  Kind kind = Kind::kExpired;  ///< and whatever else means to list again
  Slice slice;                 ///< of a bookmark: only its version
};

/// Answers of this version. Each error is for people.
Result<SlicePage, std::string> slicePageFrom(ResourceApi api, const std::string& body);
Result<Slice, std::string> sliceFromText(ResourceApi api, const std::string& body);
SliceEvent sliceEventFrom(ResourceApi api, const std::string& line);
/// Of a Node.
Result<std::string, std::string> uidFrom(const std::string& body);

}  // namespace vfiogate
