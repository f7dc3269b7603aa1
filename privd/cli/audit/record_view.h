#pragma once
// Records of the audit log for people.

#include "cli/table.h"
#include "ipc/types/bdf.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Which records are asked for.
struct RecordFilter {
  std::string since;  ///< as records write times; empty: all
  std::optional<Bdf> device;
};

/// A line of the log as JSON; null: it is not an object.
std::optional<nlohmann::ordered_json> parseRecord(std::string_view line);

/// Picks records in their order: an outcome is about the devices of its intent.
class RecordPicker {
public:
  explicit RecordPicker(RecordFilter filter) : filter_(std::move(filter)) {}
  bool wants(const nlohmann::ordered_json& record);

private:
  bool isAboutDevice(const nlohmann::ordered_json& record) const;

  RecordFilter filter_;
  std::set<std::uint64_t> intents_;  ///< that are about the device
};

std::vector<Column> recordColumns();
/// Text from outside with everything that is not printable ASCII escaped.
/// `now`, in seconds since 1970, decides on the form of its time (momentText).
std::vector<Cell> recordRow(const nlohmann::ordered_json& record, std::int64_t now);
/// The row of a line that is no record.
std::vector<Cell> brokenRow(const std::string& where);

}  // namespace vfiogate
