#include "sim/kubelet/dra/dra_health.h"

#include "proto/dra_health_v1alpha1.pb.h"
#include "sim/kubelet/base/checkpoint_format.h"
#include "sim/kubelet/dra/kept_file.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <iomanip>
#include <sstream>

namespace vfiogate::sim {
namespace {

constexpr std::size_t kLongestMessage = 1024;  // bytes
constexpr const char* kTimeFormat = "%Y-%m-%dT%H:%M:%SZ";

std::string cutMessage(const std::string& message) {
  if (message.size() <= kLongestMessage) return message;
  return message.substr(0, kLongestMessage - 3) + "...";
}

std::string healthWord(v1alpha1::HealthStatus status) {
  if (status == v1alpha1::HEALTHY) return "Healthy";
  return status == v1alpha1::UNHEALTHY ? "Unhealthy" : "Unknown";
}

std::string timeText(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, kTimeFormat);
  return text.str();
}

std::chrono::system_clock::time_point timeOf(const std::string& text) {
  std::tm parts = {};
  std::istringstream(text) >> std::get_time(&parts, kTimeFormat);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

}  // namespace

DraHealth::DraHealth(std::string path, const DraTimes& times)
    : path_(std::move(path)), times_(times) {
  read();
}

std::vector<DraHealth::Device> DraHealth::take(const std::string& driver,
                                               const v1alpha1::NodeWatchResourcesResponse& frame) {
  const std::lock_guard lock(mutex_);
  std::vector<Device> changed;
  for (const v1alpha1::DeviceHealth& told : frame.devices()) {
    const Device device{told.device().pool_name(), told.device().device_name()};
    const std::chrono::nanoseconds timeout =
        told.health_check_timeout_seconds() > 0
            ? times_.healthSecond * told.health_check_timeout_seconds()
            : times_.stale;
    const SeenHealth seen{healthWord(told.health()), cutMessage(told.message())};
    const auto [entry, fresh] = drivers_[driver].try_emplace(device);
    if (fresh || entry->second.seen != seen || entry->second.timeout != timeout) {
      changed.push_back(device);
    }
    entry->second = {seen, Clock::now(), timeout};
  }
  write();
  return changed;
}

void DraHealth::forget(const std::string& driver) {
  const std::lock_guard lock(mutex_);
  if (drivers_.erase(driver) != 0) write();
}

SeenHealth DraHealth::of(const std::string& driver, const Device& device) {
  const std::lock_guard lock(mutex_);
  const auto devices = drivers_.find(driver);
  if (devices == drivers_.end()) return {};
  const auto entry = devices->second.find(device);
  if (entry == devices->second.end()) return {};
  if (Clock::now() - entry->second.updated > entry->second.timeout) return {};
  return entry->second.seen;
}

void DraHealth::write() const {
  nlohmann::ordered_json file = nlohmann::ordered_json::object();
  for (const auto& [driver, devices] : drivers_) {
    nlohmann::ordered_json list = nlohmann::ordered_json::object();
    for (const auto& [device, entry] : devices) {
      list[device.first + "/" + device.second] = {{"PoolName", device.first},
                                                  {"DeviceName", device.second},
                                                  {"Health", entry.seen.health},
                                                  {"LastUpdated", timeText(entry.updated)},
                                                  {"HealthCheckTimeout", entry.timeout.count()},
                                                  {"Message", entry.seen.message}};
    }
    file[driver] = {{"Devices", list}};
  }
  // A message may be cut within a letter.
  keepFile(path_,
           goJson(file.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
}

void DraHealth::read() {
  const std::string text = keptText(path_);
  if (text.empty()) return;
  const auto file = nlohmann::ordered_json::parse(text, nullptr, false);
  if (file.is_discarded()) return;
  for (const auto& [driver, state] : file.items()) {
    for (const auto& [name, device] : state.at("Devices").items()) {
      drivers_[driver][{device.at("PoolName"), device.at("DeviceName")}] = {
          .seen = {device.at("Health"), device.at("Message")},
          .updated = timeOf(device.at("LastUpdated")),
          .timeout = std::chrono::nanoseconds(device.at("HealthCheckTimeout").get<long>())};
    }
  }
}

}  // namespace vfiogate::sim
