#include "tests/support/played/api_server.h"

#include "sim/base/http_client.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace vfiogate::test {
namespace {

const std::string kGroup = "/apis/resource.k8s.io/v1";
const std::string kClaims = kGroup + "/namespaces/default/resourceclaims";

std::vector<std::string> commandFor(const ApiServerOptions& options) {
  const char* const root = std::getenv("VFIOGATE_SOURCE");
  if (root == nullptr) throw std::runtime_error("VFIOGATE_SOURCE is not set: run by ctest");
  std::vector<std::string> command = {"/usr/bin/env", "python3",
                                      root + std::string("/sim/api_server/api_server.py")};
  const auto add = [&command](std::initializer_list<std::string> words) {
    command.insert(command.end(), words);
  };
  if (!options.certificate.empty()) add({"--tls", options.certificate, options.key});
  for (const std::string& file : options.tokenFiles) add({"--token-file", file});
  if (!options.drop.empty()) add({"--drop", options.drop});
  for (const std::string& node : options.nodes) add({"--node", node});
  if (!options.store.empty()) add({"--store", options.store});
  std::string serve;
  for (const std::string& version : options.serve) serve += version + ",";
  add({"--serve", serve});
  if (options.countersBeside) add({"--counters-beside"});
  if (options.port != 0) add({"--port", std::to_string(options.port)});
  return command;
}

std::string firstWord(const std::string& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

/// The ports that it prints, a line each.
std::vector<std::uint16_t> portsOf(ChildProcess& process, std::size_t count) {
  if (!process.saysAll({""}, count)) {
    throw std::runtime_error("the API server does not start: " + process.output());
  }
  std::vector<std::uint16_t> ports;
  const std::string said = process.output();
  for (std::size_t at = 0; ports.size() < count; at = said.find('\n', at) + 1) {
    const long port = std::strtol(&said[at], nullptr, 10);
    if (port <= 0 || port > 65535) throw std::runtime_error("no port: " + said);
    ports.push_back(static_cast<std::uint16_t>(port));
  }
  return ports;
}

nlohmann::json resultOf(const ClaimDevice& device, const std::string& driver) {
  nlohmann::json result = {{"request", device.request},
                           {"driver", driver},
                           {"pool", device.pool},
                           {"device", device.device}};
  if (device.adminAccess) result["adminAccess"] = true;
  return result;
}

}  // namespace

ApiServer::ApiServer(const ApiServerOptions& options)
    : tls_(!options.certificate.empty()),
      tokenFile_(options.tokenFiles.empty() ? "" : options.tokenFiles.front()),
      process_(commandFor(options)) {
  const auto ports = portsOf(process_, tls_ ? 2 : 1);
  port_ = ports.front();
  controlPort_ = ports.back();
}

std::string ApiServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

nlohmann::json ApiServer::ask(const std::string& method, const std::string& path,
                              const std::string& body) {
  std::string request = method + " " + path + " HTTP/1.1\r\nHost: api\r\nX-Every-Version: yes\r\n";
  if (!tokenFile_.empty()) request += "Authorization: Bearer " + firstWord(tokenFile_) + "\r\n";
  request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  HttpConnection connection(controlPort_);
  const auto answer = connection.send(request) ? connection.answer(kPatience) : std::nullopt;
  if (!answer) throw std::runtime_error("the API server does not answer: " + method + " " + path);
  if (answer->code / 100 != 2) {
    throw std::runtime_error(method + " " + path + ": " + answer->head + "\n" + answer->body);
  }
  return nlohmann::json::parse(answer->body);
}

nlohmann::json ApiServer::slices() {
  return ask("GET", kGroup + "/resourceslices").at("items");
}

nlohmann::json ApiServer::pools() {
  return ask("GET", "/_pools");
}

nlohmann::json ApiServer::journal() {
  return ask("GET", "/_journal");
}

std::size_t ApiServer::asked(const std::string& begin) {
  const nlohmann::json entries = journal();
  return static_cast<std::size_t>(std::ranges::count_if(entries, [&begin](const auto& entry) {
    const auto request = entry.at("method").template get<std::string>() + " " +
                         entry.at("path").template get<std::string>();
    return request.starts_with(begin);
  }));
}

void ApiServer::control(const nlohmann::json& order) {
  ask("POST", "/_control", order.dump());
}

std::string ApiServer::makeClaim(const std::string& name, const std::string& driver,
                                 const std::vector<ClaimDevice>& devices,
                                 const nlohmann::json& config) {
  nlohmann::json results = nlohmann::json::array();
  for (const ClaimDevice& device : devices) results.push_back(resultOf(device, driver));
  const nlohmann::json allocation = {{"devices", {{"results", results}, {"config", config}}}};
  const nlohmann::json claim = {{"metadata", {{"name", name}}},
                                {"spec", nlohmann::json::object()},
                                {"status", {{"allocation", allocation}}}};
  return makeClaim(claim);
}

std::string ApiServer::makeClaim(const nlohmann::json& claim) {
  return ask("POST", kClaims, claim.dump()).at("metadata").at("uid").get<std::string>();
}

nlohmann::json ApiServer::claim(const std::string& name) {
  return ask("GET", kClaims + "/" + name);
}

void ApiServer::deallocate(const std::string& name) {
  control({{"deallocate", "default/" + name}});
}

void ApiServer::deleteClaim(const std::string& name) {
  ask("DELETE", kClaims + "/" + name);
}

}  // namespace vfiogate::test
