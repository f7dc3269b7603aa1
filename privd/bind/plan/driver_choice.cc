#include "privd/bind/plan/driver_choice.h"

#include "ipc/types/selector.h"

#include <algorithm>
#include <optional>

namespace vfiogate {
namespace {

constexpr std::string_view kVfio = "vfio_";
constexpr std::string_view kBegin = "alias vfio_pci:";
constexpr std::size_t kMostAliases = 4096;

std::optional<VfioAlias> aliasIn(std::string_view line) {
  if (!line.starts_with(kBegin)) return std::nullopt;
  line.remove_prefix(std::string_view("alias ").size());
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return VfioAlias{std::string(line.substr(0, blank)), std::string(line.substr(blank + 1))};
}

bool sameName(std::string_view driver, std::string_view module) {
  return std::ranges::equal(driver, module,
                            [](char a, char b) { return (a == '-' ? '_' : a) == b; });
}

}  // namespace

std::vector<VfioAlias> vfioAliases(std::string_view modulesAlias) {
  std::vector<VfioAlias> aliases;
  while (!modulesAlias.empty() && aliases.size() < kMostAliases) {
    const std::size_t end = std::min(modulesAlias.find('\n'), modulesAlias.size());
    if (auto alias = aliasIn(modulesAlias.substr(0, end))) aliases.push_back(std::move(*alias));
    modulesAlias.remove_prefix(std::min(end + 1, modulesAlias.size()));
  }
  return aliases;
}

std::vector<std::string> variantsFor(std::string_view modalias,
                                     const std::vector<VfioAlias>& aliases) {
  const std::string wanted = std::string(kVfio) + std::string(modalias);
  std::vector<const VfioAlias*> fitting;
  for (const VfioAlias& alias : aliases) {
    if (alias.module != "vfio_pci" && matchesPattern(alias.pattern, wanted)) {
      fitting.push_back(&alias);
    }
  }
  std::ranges::stable_sort(
      fitting, {}, [](const VfioAlias* alias) { return std::ranges::count(alias->pattern, '*'); });
  std::vector<std::string> modules;
  for (const VfioAlias* alias : fitting) modules.push_back(alias->module);
  return modules;
}

DriverChoice chooseDriver(std::string_view modalias, const std::vector<VfioAlias>& aliases,
                          const std::vector<std::string>& loaded) {
  const std::vector<std::string> variants = variantsFor(modalias, aliases);
  for (const std::string& module : variants) {
    const auto driver = std::ranges::find_if(
        loaded, [&module](const std::string& name) { return sameName(name, module); });
    if (driver != loaded.end()) return {*driver, {}};
  }
  if (variants.empty()) return {"vfio-pci", {}};
  return {"vfio-pci", "the kernel has " + variants.front() +
                          " for it, which is not loaded: modprobe it for what it does beyond "
                          "vfio-pci"};
}

}  // namespace vfiogate
