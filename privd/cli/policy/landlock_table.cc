#include "privd/cli/policy/landlock_table.h"

#include "cli/table.h"
#include "privd/sandbox/gate_places.h"
#include "privd/sandbox/landlock_places.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

namespace vfiogate {
namespace {

constexpr std::array<std::pair<PlaceRight, std::string_view>, 7> kRightNames{{
    {kReadFile, "read"},
    {kReadDirectory, "list"},
    {kWriteFile, "write"},
    {kTruncate, "truncate"},
    {kMakeFile, "create"},
    {kMakeSocket, "create sockets"},
    {kRemoveFile, "remove"},
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

}  // namespace

std::string landlockAsText() {
  return "privd, where the kernel has Landlock: no file is opened, made or removed elsewhere; its "
         "fork server opens none.\n\n" +
         asText(kPrivdPlaces) + "\nprivd-gate, likewise.\n\n" + asText(kGatePlaces);
}

nlohmann::ordered_json landlockAsJson() {
  return {{"elsewhere", "nothing"},
          {"forked", "nothing anywhere"},
          {"places", asJson(kPrivdPlaces)},
          {"started", {{"elsewhere", "nothing"}, {"places", asJson(kGatePlaces)}}}};
}

}  // namespace vfiogate
