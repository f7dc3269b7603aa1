#include "sim/kubelet/dra/api_claims.h"

#include "sim/base/http_client.h"

#include <nlohmann/json.hpp>

#include <system_error>
#include <utility>

namespace vfiogate::sim {
namespace {

using ApiJson = nlohmann::json;

constexpr std::chrono::seconds kApiPatience{10};

AllocationResult resultOf(const ApiJson& json) {
  AllocationResult result{.request = json.at("request"),
                          .driver = json.at("driver"),
                          .pool = json.at("pool"),
                          .device = json.at("device")};
  if (json.contains("shareID")) result.shareId = json.at("shareID");
  return result;
}

ResourceClaim claimFrom(const ApiJson& json) {
  const ApiJson& metadata = json.at("metadata");
  const ApiJson status = json.value("status", ApiJson::object());
  ResourceClaim claim{.nameSpace = metadata.at("namespace"),
                      .name = metadata.at("name"),
                      .uid = metadata.at("uid"),
                      .allocated = status.contains("allocation")};
  for (const ApiJson& owner : metadata.value("ownerReferences", ApiJson::array())) {
    if (owner.value("kind", "") == "Pod") claim.ownerPodUid = owner.at("uid");
  }
  for (const ApiJson& user : status.value("reservedFor", ApiJson::array())) {
    if (user.value("resource", "") == "pods") claim.reservedFor.insert(user.at("uid"));
  }
  if (!claim.allocated) return claim;
  const ApiJson devices = status.at("allocation").value("devices", ApiJson::object());
  for (const ApiJson& result : devices.value("results", ApiJson::array())) {
    claim.results.push_back(resultOf(result));
  }
  return claim;
}

}  // namespace

ApiClaims::ApiClaims(std::uint16_t port, std::string node, std::function<std::string()> token,
                     const std::string& version)
    : port_(port),
      node_(std::move(node)),
      token_(std::move(token)),
      group_("/apis/resource.k8s.io/" + version) {}

std::string ApiClaims::pathOf(const std::string& nameSpace, const std::string& name) const {
  return group_ + "/namespaces/" + nameSpace + "/resourceclaims/" + name;
}

std::optional<std::string> ApiClaims::ask(const std::string& request, std::string& why,
                                          const std::string& body) const {
  std::string text = request + " HTTP/1.1\r\nHost: api\r\nUser-Agent: kubelet\r\n";
  if (token_) text += "Authorization: Bearer " + token_() + "\r\n";
  if (!body.empty()) text += "Content-Type: application/merge-patch+json\r\n";
  text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  std::optional<test::HttpAnswer> answer;
  try {
    test::HttpConnection connection(port_);
    if (connection.send(text)) answer = connection.answer(kApiPatience);
  } catch (const std::system_error& error) {  // nobody listens
    why = error.what();
    return std::nullopt;
  }
  if (answer && answer->code / 100 == 2) return answer->body;
  why = answer ? "the API server answers " + std::to_string(answer->code) + ": " + answer->body
               : "the API server does not answer";
  return std::nullopt;
}

std::optional<ResourceClaim> ApiClaims::get(const std::string& nameSpace, const std::string& name,
                                            std::string& why) {
  const auto body = ask("GET " + pathOf(nameSpace, name), why);
  if (!body) return std::nullopt;
  try {
    return claimFrom(ApiJson::parse(*body));
  } catch (const ApiJson::exception& error) {
    // The library reports by exception what this function says with null: no claim.
    why = error.what();
    return std::nullopt;
  }
}

bool ApiClaims::wipe(const std::string& selector) {
  std::string why;
  return ask("DELETE " + group_ + "/resourceslices?fieldSelector=" + selector, why).has_value();
}

bool ApiClaims::wipeNode() {
  return wipe("spec.nodeName%3D" + node_);
}

bool ApiClaims::wipeDriver(const std::string& driver) {
  return wipe("spec.nodeName%3D" + node_ + "%2Cspec.driver%3D" + driver);
}

std::string ApiClaims::reserve(const std::string& nameSpace, const std::string& name,
                               const std::string& podUid) {
  std::string why;
  const auto claim = get(nameSpace, name, why);
  if (!claim) return why;
  std::set<std::string> users = claim->reservedFor;
  users.insert(podUid);
  ApiJson list = ApiJson::array();
  for (const std::string& uid : users) {
    list.push_back({{"resource", "pods"}, {"name", uid}, {"uid", uid}});
  }
  const ApiJson patch = {{"status", {{"reservedFor", list}}}};
  ask("PATCH " + pathOf(nameSpace, name) + "/status", why, patch.dump());
  return why;
}

}  // namespace vfiogate::sim
