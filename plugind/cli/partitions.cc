#include "plugind/cli/partitions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <vector>

namespace vfiogate {
namespace {

using nlohmann::json;

constexpr std::size_t kMostGpus = 64;

struct Partition {
  std::uint32_t id = 0;
  std::set<Bdf> gpus;
};

/// Takes Fabric Manager's table apart.
class TableReader {
public:
  explicit TableReader(const PartitionOptions& options) : options_(options) {}

  Result<std::vector<Partition>, std::string> read(std::string_view text) {
    const json table = json::parse(text, nullptr, false);
    if (!table.is_object() || !table.contains("partitionInfo") ||
        !table["partitionInfo"].is_array()) {
      return Failure{std::string(
          "no partition table: wanted is the JSON that `fmpm -l` prints, with partitionInfo")};
    }
    std::vector<Partition> partitions;
    for (const json& entry : table["partitionInfo"]) {
      auto partition = readPartition(entry);
      if (!partition) return Failure{partition.error()};
      const bool twice =
          std::ranges::find(partitions, partition->id, &Partition::id) != partitions.end();
      if (twice) return Failure{nameOf(partition->id) + " is in the table twice"};
      partitions.push_back(*std::move(partition));
    }
    if (partitions.empty()) {
      return Failure{
          std::string("the table has no partition: Fabric Manager has to run in its "
                      "shared NVSwitch mode, FABRIC_MODE=1")};
    }
    return partitions;
  }

private:
  static std::string nameOf(std::uint32_t id) { return "partition " + std::to_string(id); }

  static std::optional<std::uint32_t> numberAt(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
    const auto number = found->get<std::uint64_t>();
    if (number > UINT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(number);
  }

  Result<Partition, std::string> readPartition(const json& entry) {
    const auto id = entry.is_object() ? numberAt(entry, "partitionId") : std::nullopt;
    if (!id) return Failure{std::string("an entry of partitionInfo has no partitionId")};
    Partition partition{.id = *id, .gpus = {}};
    const auto gpus = entry.find("gpuInfo");
    const bool listed = gpus != entry.end() && gpus->is_array();
    if (!listed || gpus->empty() || gpus->size() > kMostGpus ||
        numberAt(entry, "numGpus") != gpus->size()) {
      return Failure{nameOf(*id) + ": gpuInfo does not have the GPUs that numGpus counts"};
    }
    for (const json& gpu : *gpus) {
      const auto module = gpu.is_object() ? numberAt(gpu, "physicalId") : std::nullopt;
      if (!module) return Failure{nameOf(*id) + ": a GPU has no physicalId"};
      const auto address = addressOf(*module, gpu);
      if (!address) {
        return Failure{nameOf(*id) + ": the table has no address of the GPU with physicalId " +
                       std::to_string(*module) +
                       ", since Fabric Manager does not see it: say --module " +
                       std::to_string(*module) +
                       "=ADDRESS (nvidia-smi -q prints Module ID and Bus Id while nvidia's driver "
                       "has the GPUs)"};
      }
      if (!partition.gpus.insert(*address).second) {
        return Failure{nameOf(*id) + ": two of its GPUs have the address " + address->str()};
      }
    }
    return partition;
  }

  /// NVIDIA writes eight digits of the segment, and zeros for what it does not know.
  std::optional<Bdf> addressOf(std::uint32_t module, const json& gpu) const {
    const auto said = options_.modules.find(module);
    if (said != options_.modules.end()) return said->second;
    const auto found = gpu.find("pciBusId");
    if (found == gpu.end() || !found->is_string()) return std::nullopt;
    std::string text = found->get<std::string>();
    std::ranges::transform(text, text.begin(), [](char c) {
      return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (text.starts_with("0000") && text.find(':') == 8) text.erase(0, 4);
    const auto address = Bdf::parse(text);
    if (!address || address->str() == "0000:00:00.0") return std::nullopt;
    return *address;
  }

  const PartitionOptions& options_;
};

std::string setText(const Partition& partition) {
  std::string text = "  - name: partition-" + std::to_string(partition.id) + "\n    devices: [";
  for (const Bdf& gpu : partition.gpus) {
    text += (text.ends_with('[') ? "\"" : ", \"") + gpu.str() + "\"";
  }
  return text + "]\n";
}

bool anyShared(const std::vector<Partition>& partitions) {
  std::set<Bdf> seen;
  for (const Partition& partition : partitions) {
    for (const Bdf& gpu : partition.gpus) {
      if (!seen.insert(gpu).second) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::pair<std::uint32_t, Bdf>> moduleIn(std::string_view text) {
  const std::size_t mark = text.find('=');
  if (mark == std::string_view::npos) return std::nullopt;
  std::uint32_t module = 0;
  const std::string_view number = text.substr(0, mark);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), module);
  const auto address = Bdf::parse(text.substr(mark + 1));
  const bool whole = read.ec == std::errc{} && read.ptr == number.data() + number.size();
  if (number.empty() || !whole || !address) return std::nullopt;
  return std::pair(module, *address);
}

Result<std::string, std::string> setsOfPartitions(std::string_view table,
                                                  const PartitionOptions& options) {
  auto partitions = TableReader(options).read(table);
  if (!partitions) return Failure{partitions.error()};
  std::map<std::size_t, std::vector<Partition>, std::greater<>> sizes;
  for (const Partition& partition : *partitions) {
    sizes[partition.gpus.size()].push_back(partition);
  }
  const std::string overlap = anyShared(*partitions) ? "  overlap: exclude\n" : "";
  std::string text =
      "# From Fabric Manager's partition table. Fabric Manager has to activate a partition before "
      "its VM\n# starts: who has which is in PodResources, as set:partition-ID.\n"
      "resources:\n";
  for (auto& [size, alike] : sizes) {
    std::ranges::sort(alike, {}, &Partition::id);
    text += "- name: " + options.resource.str() + "_" + std::to_string(size) + "\n" + overlap +
            "  sets:\n";
    for (const Partition& partition : alike) text += setText(partition);
  }
  return text;
}

}  // namespace vfiogate
