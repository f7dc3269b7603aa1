#include "netd/dra/slices/slice_requests.h"

#include "netd/dra/api/api_versions.h"
#include "netd/dra/api/json_text.h"
#include "netd/dra/slices/slice.h"

#include <utility>

namespace vfiogate {
namespace {

using nlohmann::json;

/// Of 64 devices each: together about half of what an answer may have.
constexpr const char* kPageSize = "24";

std::string slicesPath(ResourceApi api) {
  return pathOf(api) + "/resourceslices";
}

/// Continuation tokens are made of anything.
std::string queryText(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out.append("%").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 0xfU]);
    }
  }
  return out;
}

std::string selectorQuery(const SliceSelector& selector) {
  return "?fieldSelector=" +
         queryText("spec.nodeName=" + selector.node + ",spec.driver=" + selector.driver);
}

std::string textOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& metadataOf(const json& object) {
  static const json kEmpty = json::object();
  const auto found = object.find("metadata");
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

json preconditionsOf(const Slice& slice) {
  return {{"apiVersion", "v1"},
          {"kind", "DeleteOptions"},
          {"preconditions", {{"uid", slice.uid}, {"resourceVersion", slice.resourceVersion}}}};
}

/// What is no UTF-8 is replaced: the server would refuse it, and a pool is not kept back for one
/// text.
std::string textOf(ResourceApi api, const Slice& slice) {
  return jsonOf(slice, api).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string sliceListPath(const SliceSelector& selector, const std::string& next, bool newest) {
  std::string path = slicesPath(selector.api) + selectorQuery(selector) + "&limit=" + kPageSize;
  if (!next.empty()) return path + "&continue=" + queryText(next);
  return newest ? path : path + "&resourceVersion=0";
}

std::string sliceWatchPath(const SliceSelector& selector, const std::string& version,
                           std::int64_t seconds) {
  return slicesPath(selector.api) + selectorQuery(selector) + "&watch=1&allowWatchBookmarks=true" +
         "&resourceVersion=" + queryText(version) + "&timeoutSeconds=" + std::to_string(seconds);
}

std::string slicePath(ResourceApi api, const std::string& name) {
  return slicesPath(api) + "/" + name;
}

std::string nodePath(const std::string& node) {
  return "/api/v1/nodes/" + queryText(node);
}

ApiRequest requestOf(ResourceApi api, const SliceWrite& write) {
  switch (write.kind) {
    case SliceWrite::Kind::kCreate:
      return {ApiMethod::kPost, slicesPath(api), textOf(api, write.slice)};
    case SliceWrite::Kind::kUpdate:
      return {ApiMethod::kPut, slicePath(api, write.slice.name), textOf(api, write.slice)};
    case SliceWrite::Kind::kDelete:
      break;
  }
  return {ApiMethod::kDelete, slicePath(api, write.slice.name),
          preconditionsOf(write.slice).dump()};
}

Result<SlicePage, std::string> slicePageFrom(ResourceApi api, const std::string& body) {
  const auto object = readJsonObject(body);
  if (!object) return Failure{"the list of ResourceSlices " + object.error()};
  const auto items = object->find("items");
  SlicePage page;
  page.version = textOf(metadataOf(*object), "resourceVersion");
  page.next = textOf(metadataOf(*object), "continue");
  if (page.version.empty()) return Failure{std::string("a list without a resourceVersion")};
  if (items == object->end() || !items->is_array()) return page;
  for (const json& item : *items) {
    auto slice = sliceFrom(item, api);
    if (!slice) return Failure{slice.error()};
    page.slices.push_back(std::move(slice).value());
  }
  return page;
}

Result<Slice, std::string> sliceFromText(ResourceApi api, const std::string& body) {
  const auto object = readJsonObject(body);
  if (!object) return Failure{"the answer " + object.error()};
  return sliceFrom(*object, api);
}

Result<std::string, std::string> uidFrom(const std::string& body) {
  const auto object = readJsonObject(body);
  if (!object) return Failure{"the Node " + object.error()};
  std::string uid = textOf(metadataOf(*object), "uid");
  if (uid.empty()) return Failure{std::string("a Node without a uid")};
  return uid;
}

SliceEvent sliceEventFrom(ResourceApi api, const std::string& line) {
  const auto event = readJsonObject(line);
  if (!event) return {};
  const std::string type = textOf(*event, "type");
  const auto object = event->find("object");
  if (object == event->end() || !object->is_object()) return {};
  SliceEvent told;
  if (type == "BOOKMARK") {
    told.kind = SliceEvent::Kind::kBookmark;
    told.slice.resourceVersion = textOf(metadataOf(*object), "resourceVersion");
    return told;
  }
  if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") return {};
  auto slice = sliceFrom(*object, api);
  if (!slice) return {};
  told.kind = type == "DELETED" ? SliceEvent::Kind::kDeleted : SliceEvent::Kind::kStored;
  told.slice = std::move(slice).value();
  return told;
}

}  // namespace vfiogate
