#include "plugind/config/dra_review.h"

#include <algorithm>

#include "plugind/core/refusal.h"

namespace vfiogate {
namespace {

constexpr std::size_t kLongestDraDriver = 63;

bool isDomainLabel(std::string_view label) {
  const auto isPlain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !label.empty() && isPlain(label.front()) && isPlain(label.back()) &&
         std::ranges::all_of(label, [&](char c) { return isPlain(c) || c == '-'; });
}

/// Keys that say how the device plugin hands a device over.
void reviewUnused(const LendingSettings& lending, const std::string& path, Findings& findings) {
  if (lending.serve != Serve::kDra) return;
  const std::string noEffect = "no effect with serve: dra: a claim has a CDI spec of its own";
  if (lending.injectCdi) findings.warn(path + ".inject", noEffect);
  if (lending.kata) findings.warn(path + ".kata", noEffect);
}

}  // namespace

bool isDriverDomain(std::string_view text) {
  if (text.empty() || text.size() > kLongestDraDriver) return false;
  if (text.front() < 'a' || text.front() > 'z') return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!isDomainLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

void reviewDra(const Settings& settings, Findings& findings) {
  const bool named = !settings.dra.driver.empty();
  bool served = false;
  for (std::size_t i = 0; i < settings.resources.size(); ++i) {
    const LendingSettings& lending = settings.resources[i].lending;
    const std::string path = "resources[" + std::to_string(i) + "]";
    if (servesDra(lending) && !named) {
      findings.refuse(path + ".serve",
                      "nobody serves it through DRA: set dra.driver, such as vfio.vfiogate.dev, or "
                      "serve: plugin");
    }
    served = served || servesDra(lending);
    reviewUnused(lending, path, findings);
  }
  if (named && !served) {
    findings.warn("dra.driver", "no effect: no resource says serve: dra or serve: both");
  }
  if (named && served) {
    findings.warn("", "privd serves DRA only with --dra-driver " + settings.dra.driver +
                          ", and with cdi among its --plugind-rights");
  }
  if (!named && settings.dra.metadataFiles) {
    findings.warn("dra.metadataFiles", "no effect without dra.driver");
  }
}

std::optional<std::string> refuseReload(const Settings& inEffect, const Settings& posted) {
  if (inEffect.dra.driver == posted.dra.driver) return std::nullopt;
  const auto told = [](const std::string& driver) {
    return driver.empty() ? std::string("none") : quoteForeign(driver);
  };
  return "dra.driver is " + told(inEffect.dra.driver) + " and would be " + told(posted.dra.driver) +
         ": restart plugind for that";
}

}  // namespace vfiogate
