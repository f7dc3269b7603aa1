#include "plugind/config/settings_review.h"

#include <algorithm>
#include <set>

#include "plugind/config/cdi_review.h"
#include "plugind/config/dra_review.h"

namespace vfiogate {
namespace {

constexpr std::size_t kMaxResources = 64;  // sockets that privd makes for one plugind
constexpr std::string_view kDefaultPrefix = "vfiogate.dev";

std::string entryPath(std::size_t index) {
  return "resources[" + std::to_string(index) + "]";
}

bool valuesMeet(SelectorKey key, const std::string& left, const std::string& right) {
  if (key == SelectorKey::kClass) return left.starts_with(right) || right.starts_with(left);
  if (key != SelectorKey::kAddress) return left == right;
  const bool patterns = left.find('*') != std::string::npos && right.find('*') != std::string::npos;
  return patterns || matchesPattern(left, right) || matchesPattern(right, left);
}

/// True if every device that matches `inner` matches `outer`; may miss it, never makes it up.
bool contains(const Selector& outer, const Selector& inner) {
  return std::ranges::all_of(outer.values(), [&inner](const auto& wanted) {
    const auto narrower = inner.values().find(wanted.first);
    if (narrower == inner.values().end()) return false;
    return std::ranges::all_of(narrower->second, [&wanted](const std::string& value) {
      return std::ranges::any_of(wanted.second, [&](const std::string& wide) {
        if (wanted.first == SelectorKey::kClass) return value.starts_with(wide);
        return value == wide;
      });
    });
  });
}

void reviewNames(const Settings& settings, Findings& findings) {
  std::map<ResourceName, std::size_t> owners;
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const auto& name = settings.resources[i].name;
    if (!name) continue;
    const auto [owner, fresh] = owners.emplace(*name, i);
    if (!fresh) {
      findings.refuse(entryPath(i) + ".name", name->str() + " is already the name of " +
                                                  entryPath(owner->second) +
                                                  "; join their selectors or rename one");
    }
  }
  for (const auto& [model, name] : settings.aliases) {
    const auto owner = owners.find(name);
    if (owner == owners.end()) continue;
    findings.refuse("aliases", name.str() + " is already the name of " + entryPath(owner->second) +
                                   "; rename one of them");
  }
}

void reviewSelectors(const Settings& settings, Findings& findings) {
  const auto& entries = settings.resources;
  for (std::size_t later = 1; later < entries.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (!mayOverlap(entries[earlier].select, entries[later].select)) continue;
      const std::string path = entryPath(later) + ".select";
      if (contains(entries[earlier].select, entries[later].select)) {
        findings.warn(
            path, "never matches: " + entryPath(earlier) + " comes first and selects all of it");
      } else {
        findings.hint(path, "may overlap " + entryPath(earlier) +
                                ", which comes first and gets what both select");
      }
    }
  }
}

void reviewPrefixes(const Settings& settings, Findings& findings) {
  std::set<std::string> foreign{settings.resourcePrefix};
  for (const ResourceSettings& entry : settings.resources) {
    if (entry.name) foreign.emplace(entry.name->prefix());
  }
  for (const auto& [model, name] : settings.aliases) foreign.emplace(name.prefix());
  foreign.erase(std::string(kDefaultPrefix));
  for (const std::string& prefix : foreign) {
    findings.hint("", "privd serves " + prefix + " only with --resource-prefix " + prefix + "/");
  }
}

void reviewBinding(const Settings& settings, Findings& findings) {
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const LendingSettings& lending = settings.resources[i].lending;
    if (lending.returnToOriginal && !lending.onAllocate) {
      findings.warn(
          entryPath(i) + ".returnTo",
          "no effect without bind: on-allocate: only what was bound for a lending goes back");
    }
  }
  if (bindsAny(settings)) {
    findings.hint("", "privd binds for a lending only with bind among its --plugind-rights");
  }
}

}  // namespace

bool mayOverlap(const Selector& left, const Selector& right) {
  return std::ranges::all_of(left.values(), [&right](const auto& wanted) {
    const auto other = right.values().find(wanted.first);
    if (other == right.values().end()) return true;
    return std::ranges::any_of(wanted.second, [&](const std::string& one) {
      return std::ranges::any_of(other->second, [&](const std::string& two) {
        return valuesMeet(wanted.first, one, two);
      });
    });
  });
}

void reviewSettings(const Settings& settings, Findings& findings) {
  const auto& entries = settings.resources;
  if (entries.empty()) {
    findings.warn("resources", "nothing is advertised until something is named under resources");
  }
  if (entries.size() > kMaxResources) {
    findings.refuse("resources", "found " + std::to_string(entries.size()) + " entries; at most " +
                                     std::to_string(kMaxResources));
    return;
  }
  reviewNames(settings, findings);
  reviewSelectors(settings, findings);
  reviewPrefixes(settings, findings);
  reviewCdiKinds(settings, findings);
  reviewBinding(settings, findings);
  reviewDra(settings, findings);
  const bool unnamed = std::ranges::any_of(entries, [](const auto& entry) { return !entry.name; });
  if (!settings.aliases.empty() && !unnamed) {
    findings.warn("aliases", "no effect: they name the devices of entries without a name");
  }
}

}  // namespace vfiogate
