#include "plugind/config/dra_review.h"

#include "plugind/core/refusal.h"

namespace vfiogate {
namespace {

/// Keys that say how the device plugin hands a device over.
void reviewUnused(const LendingSettings& lending, const std::string& path, Findings& findings) {
  if (lending.serve != Serve::kDra) return;
  const std::string noEffect = "no effect with serve: dra: a claim has a CDI spec of its own";
  if (lending.injectCdi) findings.warn(path + ".inject", noEffect);
  if (lending.kata) findings.warn(path + ".kata", noEffect);
}

}  // namespace

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
    findings.hint("", "privd serves DRA only with --dra-driver " + settings.dra.driver +
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
