#include "plugind/control/status_json.h"

#include <ctime>

namespace vfiogate {
namespace {

using nlohmann::ordered_json;

std::string_view nameOf(GroupUnit unit) {
  switch (unit) {
    case GroupUnit::kOne:
      return "one";
    case GroupUnit::kAll:
      return "all";
    case GroupUnit::kWhole:
      return "whole";
  }
  return "unknown";
}

std::string_view nameOf(Serve serve) {
  switch (serve) {
    case Serve::kPlugin:
      return "plugin";
    case Serve::kDra:
      return "dra";
    case Serve::kBoth:
      return "both";
  }
  return "unknown";
}

std::string_view nameOf(HolderState state) {
  switch (state) {
    case HolderState::kAnswered:
      return "answered";
    case HolderState::kAllocated:
      return "allocated";
    case HolderState::kForgotten:
      return "forgotten";
    case HolderState::kLingering:
      return "lingering";
  }
  return "unknown";
}

ordered_json texts(const std::set<UnitId>& addresses) {
  auto list = ordered_json::array();
  for (const UnitId& address : addresses) list.push_back(address.str());
  return list;
}

std::string_view healthOf(bool shown, bool healthy) {
  if (!shown) return "hidden";
  return healthy ? "healthy" : "unhealthy";
}

ordered_json toJson(const HolderView& holder) {
  ordered_json json{
      {"ref", holder.ref.str()},           {"state", nameOf(holder.state)},
      {"since", utcText(holder.since)},    {"path", holder.claim ? "claim" : "plugin"},
      {"resource", holder.resource.str()}, {"devices", texts(holder.ids)}};
  if (!holder.set.empty()) json["set"] = holder.set;
  if (!holder.rest.empty()) json["rest"] = texts(holder.rest);
  if (holder.podName) json["pod"] = *holder.podName;
  if (holder.podUid) json["podUid"] = *holder.podUid;
  if (holder.claim) {
    json["claim"] = holder.claim->claimNamespace + "/" + holder.claim->name;
    json["claimUid"] = holder.claim->uid;
  }
  return json;
}

ordered_json holdersOf(const GroupView& group) {
  auto holders = ordered_json::array();
  for (const HolderView& holder : group.holders) holders.push_back(toJson(holder));
  return holders;
}

ordered_json toJson(const DeviceStatus& device) {
  const GroupView& group = device.group;
  ordered_json json{
      {"address", device.address.str()}, {"model", device.model},
      {"driver", device.driver},         {"group", nullptr},
      {"members", texts(group.members)}, {"health", healthOf(device.shown, device.healthy)},
      {"state", nameOf(group.holding)},  {"use", nameOf(group.use)},
      {"hardware", device.hardware},     {"reason", device.reason}};
  if (group.group) json["group"] = group.group->number();
  if (!device.hardwareText.empty()) json["hardwareText"] = device.hardwareText;
  if (!device.reasonText.empty()) json["reasonText"] = device.reasonText;
  if (device.numaNode) json["numaNode"] = *device.numaNode;
  if (group.since) json["since"] = utcText(*group.since);
  if (!group.holders.empty()) json["holders"] = holdersOf(group);
  if (device.lastRefusal) {
    json["lastRefusal"] = {{"time", utcText(device.lastRefusal->time)},
                           {"reason", device.lastRefusal->refusal.reason},
                           {"text", device.lastRefusal->refusal.text}};
  }
  return json;
}

double secondsSince(const Moment& now, Instant then) {
  return std::chrono::duration<double>(
             std::chrono::duration_cast<std::chrono::milliseconds>(now.instant - then))
      .count();
}

ordered_json toJson(const ResourceStatus& resource, const Moment& now) {
  const ResourceFacts& facts = resource.facts;
  ordered_json json{
      {"name", resource.name.str()},
      {"serve", nameOf(resource.allocation.serve)},
      {"groupUnit", nameOf(resource.allocation.groupUnit)},
      {"inject", resource.allocation.injectCdi ? "cdi" : "nodes"},
      {"kata", resource.allocation.kata},
      {"kubevirt", servesPlugin(resource.allocation) && resource.allocation.kubevirtVariable},
      {"registered", isRegistered(facts.state)},
      {"registration", nameOf(facts.state)},
      {"streams", facts.streams},
      {"frames", facts.framesSent},
      {"lastFrameAge", nullptr},
      {"devices", ordered_json::array()}};
  if (!facts.trouble.empty()) json["trouble"] = facts.trouble;
  if (facts.lastFrame) json["lastFrameAge"] = secondsSince(now, *facts.lastFrame);
  for (const DeviceStatus& device : resource.devices) json["devices"].push_back(toJson(device));
  for (const SetStatus& set : resource.sets) {
    json["sets"].push_back({{"name", set.name},
                            {"devices", texts(set.units)},
                            {"health", healthOf(set.shown, set.healthy)},
                            {"reason", set.reason}});
    if (!set.reasonText.empty()) json["sets"].back()["reasonText"] = set.reasonText;
  }
  for (const TicketStatus& ticket : resource.tickets) {
    json["tickets"].push_back({{"companion", ticket.companion.str()},
                               {"model", ticket.model},
                               {"card", ticket.card.str()},
                               {"healthy", ticket.healthy}});
  }
  if (const auto& more = resource.allocation.more) {
    json["more"] = {{"resource", more->name.str()}, {"count", more->count}};
  }
  if (const auto& more = resource.moreOf) {
    json["moreOf"] = {
        {"resource", more->of.str()}, {"tickets", more->tickets}, {"healthy", more->healthy}};
  }
  return json;
}

ordered_json toJson(const DriverStatus& dra) {
  ordered_json json{{"driver", dra.driver},
                    {"registered", dra.registration == DraRegistrationState::kRegistered},
                    {"registration", nameOf(dra.registration)},
                    {"api", dra.apiThere},
                    {"node", dra.node},
                    {"poolDevices", dra.poolDevices},
                    {"taintedDevices", dra.taintedDevices}};
  if (dra.resourceApi) json["apiVersion"] = nameOf(*dra.resourceApi);
  if (!dra.trouble.empty()) json["trouble"] = dra.trouble;
  return json;
}

}  // namespace

ordered_json toJson(const PluginStatus& status, const Moment& now) {
  ordered_json json{{"time", utcText(now.seconds())},
                    {"privd", {{"there", status.privdThere}}},
                    {"allocation", status.allocationOpen ? "open" : "closed"},
                    {"adoption", status.adopted ? "done"
                                 : status.begun ? "running"
                                                : "waiting"},
                    {"resources", ordered_json::array()},
                    {"gone", ordered_json::array()},
                    {"leftOut", ordered_json::array()},
                    {"obstacles", ordered_json::array()}};
  if (status.privdAwaySince) json["privd"]["awayFor"] = secondsSince(now, *status.privdAwaySince);
  if (!status.privdMissing.empty()) json["privd"]["missing"] = status.privdMissing;
  if (status.dra) json["dra"] = toJson(*status.dra);
  for (const ResourceStatus& resource : status.resources) {
    json["resources"].push_back(toJson(resource, now));
  }
  for (const GroupView& group : status.gone) {
    json["gone"].push_back({{"members", texts(group.members)}, {"holders", holdersOf(group)}});
  }
  for (const auto& [address, why] : status.leftOut) {
    json["leftOut"].push_back(
        {{"address", address.str()}, {"reason", why.reason}, {"text", why.text}});
  }
  for (const NodeObstacle& obstacle : status.obstacles) {
    json["obstacles"].push_back({{"reason", obstacle.code}, {"text", obstacle.fix}});
  }
  return json;
}

ordered_json toJson(const Explanation& explanation) {
  ordered_json json{{"address", explanation.address.str()},
                    {"present", explanation.present},
                    {"resource", nullptr},
                    {"reason", explanation.reason},
                    {"text", explanation.text},
                    {"lines", explanation.lines}};
  if (explanation.resource) json["resource"] = explanation.resource->str();
  if (explanation.device) json["device"] = toJson(*explanation.device);
  return json;
}

std::string textOf(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace vfiogate
