#include "plugind/cli/ask.h"

#include "cli/table.h"

#include <cmath>
#include <vector>

namespace vfiogate {
namespace {

using nlohmann::json;

std::string textAt(const json& object, const char* key, const char* otherwise = "-") {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? otherwise : found->get<std::string>();
}

std::string numberAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_number() ? "-" : found->dump();
}

std::string holderText(const json& holder) {
  std::string who = textAt(holder, "claim", "");
  who = who.empty() ? textAt(holder, "pod", "a pod not named yet") : "claim " + who;
  return who + " ref=" + textAt(holder, "ref");
}

Ink inkOfHealth(const std::string& health) {
  if (health == "healthy") return Ink::kGood;
  return health == "hidden" ? Ink::kDim : Ink::kBad;
}

Ink inkOfState(const std::string& state) {
  if (state == "free") return Ink::kGood;
  return state == "allocated" || state == "answered" || state == "taking" ? Ink::kBusy : Ink::kBad;
}

std::vector<Cell> rowOf(const json& device, std::int64_t now) {
  std::string holder = "-";
  std::string since = textAt(device, "since");
  const auto holders = device.find("holders");
  if (holders != device.end()) {
    holder.clear();
    for (const json& one : *holders) {
      holder += (holder.empty() ? "" : ", ") + holderText(one);
      since = textAt(one, "since");
    }
  }
  const std::string health = textAt(device, "health");
  const std::string state = textAt(device, "state");
  const std::string hardware = textAt(device, "hardware");
  return {{textAt(device, "address")},
          {numberAt(device, "group")},
          {textAt(device, "model")},
          {health, inkOfHealth(health)},
          {state, inkOfState(state)},
          {textAt(device, "use")},
          {momentText(since, now)},
          {holder},
          {hardware, hardware == "ready" ? Ink::kGood : Ink::kBad}};
}

std::string secondsText(double seconds) {
  return std::to_string(static_cast<long>(std::floor(seconds))) + " s";
}

/// "privd-binder": what of it is not connected, where something is.
std::string missingOf(const json& privd) {
  std::string names;
  const auto missing = privd.find("missing");
  if (missing == privd.end()) return names;
  for (const json& program : *missing) {
    names += (names.empty() ? "" : ", ") + program.get<std::string>();
  }
  return names;
}

std::string headline(const json& status) {
  const json& privd = status.at("privd");
  const std::string missing = missingOf(privd);
  std::string text = "privd ";
  if (privd.at("there").get<bool>()) {
    text += "connected";
    if (!missing.empty()) text += ", " + missing + " away";
  } else {
    text += "away";
    const auto since = privd.find("awayFor");
    if (since != privd.end()) text += " for " + secondsText(since->get<double>());
    if (!missing.empty()) text += " (" + missing + ")";
  }
  text += textAt(status, "allocation") == "open" ? " | allocations on" : " | allocations off";
  const std::string adoption = textAt(status, "adoption");
  const bool done = adoption == "done";
  text += done ? " | startup scan done" : " | startup scan " + adoption + " (at most 30 s)";
  return text + "\n";
}

std::string draLine(const json& status) {
  const auto dra = status.find("dra");
  if (dra == status.end()) return "";
  std::string text = "DRA driver " + textAt(*dra, "driver") + ": ";
  text += dra->at("registered").get<bool>() ? "registered" : "not registered";
  const std::string trouble = textAt(*dra, "trouble", "");
  if (!trouble.empty()) text += " (" + trouble + ")";
  text += dra->at("api").get<bool>() ? " | netd dra connected" : " | netd dra not connected";
  const std::string version = textAt(*dra, "apiVersion", "");
  if (!version.empty()) text += " | resource.k8s.io/" + version;
  const auto published = dra->at("poolDevices").get<std::size_t>();
  if (published == 0) return text + " | nothing published yet\n";
  return text + " | pool " + textAt(*dra, "node") + ": " + std::to_string(published) +
         " published, " + std::to_string(dra->at("taintedDevices").get<std::size_t>()) +
         " tainted\n";
}

std::string resourceLine(const json& resource) {
  std::string text = textAt(resource, "name") + ": ";
  const std::string serve = textAt(resource, "serve");
  const std::string unit = ", groupUnit " + textAt(resource, "groupUnit") + "\n";
  if (serve == "dra") return text + "served to claims only" + unit;
  text += resource.at("registered").get<bool>() ? "registered" : "not registered";
  const std::string trouble = textAt(resource, "trouble", "");
  if (!trouble.empty()) text += " (" + trouble + ")";
  const auto streams = resource.at("streams").get<std::size_t>();
  text += ", " + std::to_string(streams) + (streams == 1 ? " stream" : " streams");
  const auto age = resource.find("lastFrameAge");
  text += age == resource.end() || age->is_null()
              ? ", no frame sent yet"
              : ", last frame " + secondsText(age->get<double>()) + " ago";
  return text + (serve == "both" ? ", to claims too" : "") + unit;
}

std::string refusalsOf(const json& resource, std::int64_t now) {
  std::string text;
  for (const json& device : resource.at("devices")) {
    const auto refusal = device.find("lastRefusal");
    if (refusal == device.end()) continue;
    text += "  last refusal of " + textAt(device, "address") + " at " +
            momentText(textAt(*refusal, "time"), now) + ": " + textAt(*refusal, "text") + "\n";
  }
  return text;
}

/// What the kubelet counts where cards bring their companions along.
std::string ticketsOf(const json& resource) {
  std::string text;
  for (const json& ticket : resource.value("tickets", json::array())) {
    text += "  " + textAt(ticket, "companion") + " (" + textAt(ticket, "model") +
            ") goes along with " + textAt(ticket, "card") +
            (ticket.at("healthy").get<bool>() ? ", healthy" : ", unhealthy") + "\n";
  }
  return text;
}

/// What the kubelet counts of another resource's further devices.
std::string moreOf(const json& resource) {
  const auto more = resource.find("moreOf");
  if (more == resource.end()) return "";
  return "  further devices of " + textAt(*more, "resource") + ": " +
         std::to_string(more->at("tickets").get<std::size_t>()) + " tickets, " +
         std::to_string(more->at("healthy").get<std::size_t>()) + " healthy\n";
}

/// What is allocated together, each with what keeps it.
std::string setsOf(const json& resource) {
  std::string text;
  for (const json& set : resource.value("sets", json::array())) {
    text += "  set " + textAt(set, "name") + ": " + textAt(set, "health");
    const std::string why = textAt(set, "reasonText", "");
    if (!why.empty()) text += ", " + textAt(set, "reason") + ": " + why;
    std::string devices;
    for (const json& device : set.at("devices")) devices += " " + device.get<std::string>();
    text += "\n   " + devices + "\n";
  }
  return text;
}

std::string goneText(const json& status) {
  std::string text;
  for (const json& group : status.at("gone")) {
    for (const json& holder : group.at("holders")) {
      text +=
          "gone while allocated: " + group.at("members").dump() + ", " + holderText(holder) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string statusTable(const json& status, std::size_t width, bool colours, std::int64_t now) {
  const std::vector<Column> columns = {{"DEVICE"}, {"GROUP"},        {"MODEL"},
                                       {"HEALTH"}, {"STATE"},        {"USE"},
                                       {"SINCE"},  {"HOLDER", true}, {"HARDWARE"}};
  std::string text = headline(status) + draLine(status);
  for (const json& resource : status.at("resources")) {
    std::vector<std::vector<Cell>> rows;
    for (const json& device : resource.at("devices")) rows.push_back(rowOf(device, now));
    const std::string tickets = ticketsOf(resource) + moreOf(resource);
    const bool table = tickets.empty() || !rows.empty();
    text += "\n" + resourceLine(resource) +
            (table ? formatTable(columns, rows, width, colours) : std::string()) +
            setsOf(resource) + tickets + refusalsOf(resource, now);
  }
  text += goneText(status);
  const auto leftOut = status.at("leftOut").size();
  if (leftOut != 0) {
    text += "\n" + counted(leftOut, "device") + (leftOut == 1 ? " falls" : " fall") +
            " into no resource: plugind explain ADDRESS says why\n";
  }
  return text;
}

DeviceVerdict verdictOf(const nlohmann::json& explanation) {
  const std::string reason = explanation.at("reason");
  const std::string why = explanation.at("text");
  DeviceVerdict verdict{.offered = reason == "offered",
                        .text = std::string(explanation.at("address")) + ": " + reason};
  if (!why.empty()) verdict.text += ": " + why;
  return verdict;
}

std::string explanationText(const json& explanation) {
  const std::int64_t now = secondsSince1970();
  std::string text = textAt(explanation, "address") + ": " + textAt(explanation, "reason") + "\n";
  for (const json& line : explanation.at("lines")) {
    text += "  " + momentsIn(line.get<std::string>(), now) + "\n";
  }
  return text;
}

}  // namespace vfiogate
