#include "privd/cli/base/device_state.h"
#include "privd/cli/doctor/examine.h"

#include "ipc/types/viability.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

namespace vfiogate {
namespace {

constexpr std::uint64_t kIsMemory = 0x200;      // IORESOURCE_MEM
constexpr std::uint64_t kIsUnset = 0x20000000;  // IORESOURCE_UNSET
constexpr int kRom = 6;
constexpr std::uint64_t kMebibyte = 1 << 20;

/// Obstacles that belong to the device and are no matter of who has bound what.
constexpr std::array kFaults{Obstacle::kUnreadable, Obstacle::kNotAnswering, Obstacle::kWriteStuck,
                             Obstacle::kBeingUnbound, Obstacle::kNoNode};

/// A warning: the device is broken or stuck. An info: it is as somebody wants it. None: other
/// checks tell of it, or nothing is to be told.
std::optional<Level> levelOf(std::string_view state) {
  const auto is = [state](Obstacle each) { return state == reasonCode(each); };
  if (std::ranges::any_of(kFaults, is)) return Level::kWarning;
  if (is(Obstacle::kOperatorExcluded) || state == kBindingState) return Level::kInfo;
  return std::nullopt;
}

std::string fixOf(std::string_view state, const Bdf& address) {
  if (state == reasonCode(Obstacle::kOperatorExcluded)) return "privd release " + address.str();
  return state == kBindingState ? "" : "privd show " + address.str();
}

void checkKnown(const std::string& problem, const std::string& what, Findings& findings) {
  if (problem.empty()) return;
  findings.push_back({Check::kDeviceState, Level::kUnknown, "", what + " is not known", problem,
                      "run it as root"});
}

void checkStates(const HostFacts& facts, Findings& findings) {
  const Snapshot& hardware = *facts.hardware;
  bool sound = true;
  for (const auto& [address, device] : hardware.devices) {
    const std::string state = stateOf(hardware, device);
    const auto level = levelOf(state);
    if (!level) continue;
    sound = sound && level != Level::kWarning;
    findings.push_back({Check::kDeviceState, *level, address.str(), whyOf(hardware, device),
                        "docs/reasons.md: " + state, fixOf(state, address)});
  }
  checkKnown(facts.excludedProblem, "what operators excluded", findings);
  checkKnown(facts.changesProblem, "which changes of drivers run", findings);
  if (sound) {
    findings.push_back(
        {Check::kDeviceState, Level::kOk, "", "no device is broken or stuck", "", ""});
  }
}

void checkResets(const Snapshot& hardware, Findings& findings) {
  bool all = true;
  for (const auto& [address, device] : hardware.devices) {
    if (!isEndpoint(device) || !offersVfio(device) || !device.resetMethods.empty()) continue;
    all = false;
    findings.push_back({Check::kDeviceReset, Level::kWarning, address.str(),
                        "the kernel has no way to reset it between two VMs",
                        "reset_method: empty or absent",
                        "keep it for one tenant, or expect what the last VM left behind"});
  }
  if (all) {
    findings.push_back({Check::kDeviceReset, Level::kOk, "",
                        "every device on a VFIO driver has a way to be reset", "", ""});
  }
}

/// What is said of one line "0xSTART 0xEND 0xFLAGS" that has a size and no place; empty: nothing.
std::string unplaced(const std::string& line, int number) {
  std::istringstream words(line);
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t flags = 0;
  if (!(words >> std::hex >> start >> end >> flags) || end <= start) return {};
  const bool placed = start != 0 && (flags & kIsUnset) == 0;
  if (number == kRom || (flags & kIsMemory) == 0 || placed) return {};
  const std::uint64_t size = end - start + 1;
  const std::string name =
      number < kRom ? "BAR " + std::to_string(number) : "window " + std::to_string(number);
  return name + " of " +
         (size >= kMebibyte ? std::to_string(size / kMebibyte) + " MiB"
                            : std::to_string(size) + " bytes");
}

}  // namespace

void checkDevices(const HostFacts& facts, Findings& findings) {
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kDeviceState, facts));
    findings.push_back(unseenHardware(Check::kDeviceReset, facts));
    return;
  }
  checkStates(facts, findings);
  checkResets(*facts.hardware, findings);
}

void checkWindows(const HostFacts& facts, Findings& findings) {
  if (!facts.hardware) {
    findings.push_back(unseenHardware(Check::kBarUnassigned, facts));
    return;
  }
  bool sound = true;
  for (const auto& [address, seen] : facts.windows) {
    if (!seen) {
      sound = false;
      findings.push_back({Check::kBarUnassigned, Level::kUnknown, address.str(),
                          "its windows were not seen", whyNot(seen), ""});
      continue;
    }
    std::istringstream lines(*seen);
    std::vector<std::string> wrong;
    std::string line;
    for (int number = 0; std::getline(lines, line); ++number) {
      if (const std::string found = unplaced(line, number); !found.empty()) wrong.push_back(found);
    }
    if (wrong.empty()) continue;
    sound = false;
    findings.push_back(
        {Check::kBarUnassigned, Level::kWarning, address.str(),
         "no place in the address space for " + someOf(wrong), seen.path,
         "turn Above 4G Decoding on in firmware, or " + addParameter("pci=realloc")});
  }
  if (sound) {
    findings.push_back(
        {Check::kBarUnassigned, Level::kOk, "", "every endpoint has its windows", "", ""});
  }
}

}  // namespace vfiogate
