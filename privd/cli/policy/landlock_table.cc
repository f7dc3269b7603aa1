#include "privd/cli/policy/landlock_table.h"

#include "cli/table.h"
#include "privd/iommufd/iommu_context.h"
#include "privd/sandbox/binder_places.h"
#include "privd/sandbox/gate_places.h"
#include "privd/sandbox/hardware_places.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

constexpr std::array<std::pair<PlaceRight, std::string_view>, 8> kRightNames{{
    {kReadFile, "read"},
    {kReadDirectory, "list"},
    {kWriteFile, "write"},
    {kTruncate, "truncate"},
    {kMakeFile, "create"},
    {kMakeSocket, "create sockets"},
    {kRemoveFile, "remove"},
    {kAskDevice, "ioctl"},
}};

std::vector<std::string> namesOf(std::uint64_t rights) {
  std::vector<std::string> names;
  for (const auto& [right, name] : kRightNames) {
    if ((rights & right) != 0) names.emplace_back(name);
  }
  return names;
}

std::string rightsText(const PlaceRow& row) {
  std::string text;
  for (const std::string& name : namesOf(row.rights)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string nameOfNeed(PlaceFor whom) {
  if (whom == PlaceFor::kEveryone) return "everyone";
  return whom == PlaceFor::kCdi ? "cdi" : "dra";
}

std::string nameOfMissing(IfMissing missing) {
  return missing == IfMissing::kAbove ? "above" : "nothing";
}

std::string asText(std::span<const PlaceRow> table) {
  std::vector<std::vector<Cell>> cells;
  for (const PlaceRow& row : table) {
    cells.push_back({{std::string(row.place)},
                     {rightsText(row)},
                     {nameOfNeed(row.neededBy)},
                     {nameOfMissing(row.missing)},
                     {std::string(row.reason)}});
  }
  return formatTable({{"PLACE"}, {"RIGHTS"}, {"FOR"}, {"IF MISSING"}, {"REASON"}}, cells, 0, false);
}

nlohmann::ordered_json asJson(std::span<const PlaceRow> table) {
  nlohmann::ordered_json places = nlohmann::ordered_json::array();
  for (const PlaceRow& row : table) {
    places.push_back({{"place", row.place},
                      {"rights", namesOf(row.rights)},
                      {"for", nameOfNeed(row.neededBy)},
                      {"missing", nameOfMissing(row.missing)},
                      {"reason", row.reason}});
  }
  return places;
}

std::span<const PlaceRow> tableOf(std::string_view role) {
  if (role == "hardware") return kHardwarePlaces;
  if (role == "gate") return kGatePlaces;
  if (role == "binder") return kBinderPlaces;
  if (role == "iommufd") return kIommufdPlaces;
  return {};
}

}  // namespace

std::string landlockAsText(std::string_view role) {
  const auto table = tableOf(role);
  if (table.empty()) return {};
  const std::string_view forked =
      role == "binder" ? "; its fork server opens none" : std::string_view();
  return "privd-" + std::string(role) +
         ", where the kernel has Landlock: no file is opened, made or removed elsewhere" +
         std::string(forked) + ".\n\n" + asText(table);
}

nlohmann::ordered_json landlockAsJson(std::string_view role) {
  const auto table = tableOf(role);
  if (table.empty()) return nullptr;
  nlohmann::ordered_json whole{{"elsewhere", "nothing"}, {"places", asJson(table)}};
  if (role == "binder") whole["forked"] = "nothing anywhere";
  return whole;
}

}  // namespace vfiogate
