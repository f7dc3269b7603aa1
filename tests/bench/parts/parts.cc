#include "tests/bench/parts/parts.h"

#include "tests/bench/parts/ledger_parts.h"
#include "tests/bench/parts/scan_parts.h"

namespace vfiogate::bench {

std::vector<Part> parts() {
  std::vector<Part> all;
  const auto add = [&all](const std::string& name, unsigned devices, auto start) {
    all.push_back({name + ", " + std::to_string(devices) + " devices", std::move(start)});
  };
  for (const unsigned devices : {8U, 256U, 4096U}) {
    // As many as a node has pods with a device.
    for (const unsigned held : {0U, 7U, 100U}) {
      if (held >= devices) continue;
      add("allocate, held " + std::to_string(held), devices,
          [devices, held]() { return startAllocate({.devices = devices, .held = held}); });
    }
    const NodeShape shape{.devices = devices, .held = 7};
    if (devices > 2 * shape.held) {
      add("allocate beside 7 others", devices,
          [devices]() { return startAllocate({.devices = devices, .held = 7, .open = 7}); });
    }
    add("refused", devices, [shape]() { return startRefused(shape); });
    add("change", devices, [devices]() { return startChange({.devices = devices}, 1); });
    add("preferred", devices, [shape]() { return startPreferred(shape); });
    add("sweep", devices, [devices]() { return startSweep(devices); });
    add("bare sweep", devices, [devices]() { return startBareSweep(devices); });
    add("glance", devices, [devices]() { return startGlance(devices); });
    add("reread", devices, [devices]() { return startReread(devices); });
  }
  return all;
}

}  // namespace vfiogate::bench
