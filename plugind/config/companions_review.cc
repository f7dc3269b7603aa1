#include "plugind/config/settings_review.h"

#include <algorithm>

namespace vfiogate {
namespace {

bool hasKey(const Selector& select, SelectorKey key) {
  return select.values().contains(key);
}

/// It names display controllers by their class.
bool namesCards(const Selector& select) {
  static const Selector kDisplays = *Selector::parse("class=03");
  return hasKey(select, SelectorKey::kClass) && mayOverlap(select, kDisplays);
}

/// It selects display controllers, for all that its keys say.
bool takesCards(const Selector& select) {
  const bool narrow = hasKey(select, SelectorKey::kClass) || hasKey(select, SelectorKey::kDevice) ||
                      hasKey(select, SelectorKey::kAddress) || selectsMediated(select) ||
                      selectsProducts(select) || selectsSerials(select);
  return namesCards(select) || !narrow;
}

std::string entryAt(std::size_t index) {
  return "resources[" + std::to_string(index) + "]";
}

void reviewAttached(const Settings& settings, std::size_t index, Findings& findings) {
  const ResourceSettings& entry = settings.resources[index];
  const std::string path = entryAt(index);
  if (servesDra(entry.allocation)) {
    findings.refuse(path + ".companions",
                    "attach is for the device plugin alone: set serve: plugin (of a claim a card "
                    "is one device, and its companions travel with it)");
  } else if (!mayAttach(entry.allocation)) {
    findings.refuse(path + ".companions",
                    "attach sets KubeVirt's variables in the card's answer: it needs " +
                        std::string(kAttachNeeds));
  }
  if (entry.name && takesCards(entry.select)) {
    findings.refuse(path + ".name",
                    "cards and their companions would be one resource: leave the name out, or "
                    "give the companions an entry of their own, such as {class: \"0403\"}");
  }
  std::size_t cards = 0;
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& other = settings.resources[i];
    if (i == index || !other.sets.empty() || !namesCards(other.select)) continue;
    ++cards;
    if (mayAttach(other.allocation)) continue;
    findings.warn(path + ".companions", "attach has no effect for the cards of " + entryAt(i) +
                                            ", which would need " + std::string(kAttachNeeds));
  }
  if (entry.name && cards > 1) {
    findings.warn(path + ".name",
                  "the companions of several resources share one variable: a container with cards "
                  "of two of them finds the companions of one alone");
  }
}

}  // namespace

void reviewCompanions(const Settings& settings, Findings& findings) {
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const ResourceSettings& entry = settings.resources[i];
    if (entry.sets.empty() && entry.allocation.companions == Companions::kAttach) {
      reviewAttached(settings, i, findings);
    }
  }
}

}  // namespace vfiogate
