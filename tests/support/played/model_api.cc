#include "tests/support/played/model_api.h"

#include "netd/dra/api/api_versions.h"

#include <kj/debug.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace vfiogate::test {
namespace {

using nlohmann::json;

const char* wordOf(ApiMethod method) {
  switch (method) {
    case ApiMethod::kGet:
      return "GET";
    case ApiMethod::kPost:
      return "POST";
    case ApiMethod::kPut:
      return "PUT";
    case ApiMethod::kPatch:
      return "PATCH";
    case ApiMethod::kDelete:
      break;
  }
  return "DELETE";
}

bool isSelected(const std::string& path, const json& spec) {
  const std::string selector = "spec.nodeName%3D" + spec.at("nodeName").get<std::string>() +
                               "%2Cspec.driver%3D" + spec.at("driver").get<std::string>() + "&";
  return path.find(selector) != std::string::npos;
}

bool consumes(const json& device) {
  return device.contains("consumesCounters") ||
         device.value("basic", json::object()).contains("consumesCounters");
}

ModelApi::Outcome good(const json& body) {
  return ApiAnswer{200, body.dump(), std::nullopt};
}

ModelApi::Outcome refused(unsigned status, const std::string& words) {
  return ApiAnswer{status, json({{"kind", "Status"}, {"message", words}}).dump(), std::nullopt};
}

}  // namespace

kj::Promise<ModelApi::Outcome> ModelApi::ask(ApiMethod method, const std::string& path,
                                             std::string body) {
  const std::string plain = path.substr(0, path.find('?'));
  const std::string request = std::string(wordOf(method)) + " " + plain;
  journal.push_back(request);
  for (Fault& fault : faults_) {
    if (fault.times == 0 || !request.starts_with(fault.begin)) continue;
    --fault.times;
    if (fault.done) static_cast<void>(answer(method, path, body));
    if (fault.throws) return KJ_EXCEPTION(FAILED, "thrown by order");
    if (fault.status == 0) return Outcome(Failure{ApiFailure{"no answer by order"}});
    Outcome answer = refused(fault.status, "by order");
    return Outcome(ApiAnswer{answer->status, answer->body, retryAfter});
  }
  // Later, as a real one: not within the call.
  return kj::evalLater(
      [this, method, path, body = std::move(body)]() { return answer(method, path, body); });
}

ModelApi::Outcome ModelApi::answer(ApiMethod method, const std::string& path,
                                   const std::string& body) {
  if (path.starts_with("/api/v1/nodes/")) {
    return good({{"metadata", {{"name", path.substr(14)}, {"uid", nodeUid}}}});
  }
  const std::string group = pathOf(served);
  const std::string all = group + "/resourceslices";
  if (path == group) {
    return good({{"resources", {{{"name", "resourceclaims"}}, {{"name", "resourceslices"}}}}});
  }
  if (path.starts_with(all + "?")) return list(path);
  if (!path.starts_with(all)) return ApiAnswer{404, "404 page not found\n", std::nullopt};
  if (method == ApiMethod::kPost) return store(body, true);
  const std::string name = path.substr(all.size() + 1);
  if (!slices.contains(name)) return refused(404, name + " not found");
  if (method == ApiMethod::kGet) return good(slices.at(name));
  if (method == ApiMethod::kPut) return store(body, false);
  return erase(name, body);
}

ModelApi::Outcome ModelApi::list(const std::string& path) {
  listPaths.push_back(path);
  const std::size_t at = path.find("&continue=");
  std::size_t from = at == std::string::npos ? 0 : std::strtoul(&path[at + 10], nullptr, 10);
  const std::size_t most = pageSize == 0 ? slices.size() : pageSize;
  json items = json::array();
  std::size_t number = 0;
  for (const auto& [name, slice] : slices) {
    if (isSelected(path, slice.at("spec")) && number++ >= from && items.size() < most) {
      items.push_back(slice);
    }
  }
  json metadata = {{"resourceVersion", std::to_string(version_)}};
  from += items.size();
  if (from < number) metadata["continue"] = std::to_string(from);
  return good({{"metadata", metadata}, {"items", items}});
}

ModelApi::Outcome ModelApi::store(const std::string& body, bool create) {
  json sent = json::parse(body);
  const auto name = sent.at("metadata").at("name").get<std::string>();
  const auto stands = slices.find(name);
  if (create && stands != slices.end()) return refused(409, name + " already exists");
  json& metadata = sent["metadata"];
  if (create) {
    metadata["uid"] = "uid-" + std::to_string(++version_);
  } else if (metadata.at("resourceVersion") != stands->second["metadata"]["resourceVersion"] ||
             metadata.at("uid") != stands->second["metadata"]["uid"]) {
    return refused(409, name + " has been modified");
  }
  for (const json& device : sent["spec"].value("devices", json::array())) {
    if (!countersBeside || !consumes(device)) continue;
    const json cause = {{"field", "spec.devices[0].consumesCounters[0].counterSet"}};
    const json status = {{"message", "no such set"}, {"details", {{"causes", {cause}}}}};
    return ApiAnswer{422, status.dump(), std::nullopt};
  }
  if (dropsCounters) {
    sent["spec"].erase("sharedCounters");
    for (auto& device : sent["spec"]["devices"]) device.erase("consumesCounters");
    if (sent["spec"]["devices"].is_null()) sent["spec"].erase("devices");
  }
  put(sent);
  Outcome answer = good(slices.at(name));
  if (sabotages > 0) {
    --sabotages;
    remove(name);
  }
  return answer;
}

ModelApi::Outcome ModelApi::erase(const std::string& name, const std::string& body) {
  const json expected = json::parse(body).at("preconditions");
  const json& metadata = slices.at(name).at("metadata");
  if (expected.at("uid") != metadata.at("uid") ||
      expected.at("resourceVersion") != metadata.at("resourceVersion")) {
    return refused(409, "the precondition does not hold");
  }
  remove(name);
  return good({{"status", "Success"}});
}

kj::Promise<ModelApi::Outcome> ModelApi::watch(const std::string& path,
                                               kj::Function<void(const std::string&)> line) {
  journal.push_back("WATCH");
  watchPaths.push_back(path);
  line_ = kj::mv(line);
  auto pair = kj::newPromiseAndFulfiller<Outcome>();
  ended_ = kj::mv(pair.fulfiller);
  return kj::mv(pair.promise);
}

std::size_t ModelApi::count(const std::string& begin) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      journal, [&begin](const std::string& request) { return request.starts_with(begin); }));
}

void ModelApi::put(json slice) {
  const auto name = slice.at("metadata").at("name").get<std::string>();
  const bool fresh = !slices.contains(name);
  slice["metadata"]["resourceVersion"] = std::to_string(++version_);
  slices[name] = std::move(slice);
  told(fresh ? "ADDED" : "MODIFIED", slices[name]);
}

void ModelApi::remove(const std::string& name) {
  json gone = slices.at(name);
  slices.erase(name);
  gone["metadata"]["resourceVersion"] = std::to_string(++version_);
  told("DELETED", gone);
}

void ModelApi::wipe() {
  while (!slices.empty()) remove(std::string(slices.begin()->first));
}

void ModelApi::told(const char* type, const json& slice) {
  say(json({{"type", type}, {"object", slice}}).dump());
}

void ModelApi::say(const std::string& line) {
  KJ_IF_MAYBE (hear, line_) {
    if (ended_.get() != nullptr && ended_->isWaiting()) (*hear)(line);
  }
}

void ModelApi::endWatch(Outcome outcome) {
  line_ = nullptr;
  ended_->fulfill(kj::mv(outcome));
  ended_ = nullptr;
}

}  // namespace vfiogate::test
