#include "tests/bench/parts/parts.h"

#include "tests/bench/parts/ledger_parts.h"
#include "tests/bench/parts/scan_parts.h"

namespace vfiogate::bench {

std::vector<Part> parts() {
  std::vector<Part> all;
  for (const unsigned devices : {8U, 256U, 4096U}) {
    // As many as a node has pods with a device.
    for (const unsigned held : {0U, 7U, 100U}) {
      if (held >= devices) continue;
      all.push_back({"allocate, held " + std::to_string(held), devices,
                     [devices, held]() { return startAllocate(devices, held); }});
    }
    all.push_back({"refused", devices, [devices]() { return startRefused(devices); }});
    all.push_back({"change", devices, [devices]() { return startChange(devices); }});
    all.push_back({"preferred", devices, [devices]() { return startPreferred(devices); }});
    all.push_back({"sweep", devices, [devices]() { return startSweep(devices); }});
    all.push_back({"bare sweep", devices, [devices]() { return startBareSweep(devices); }});
    all.push_back({"reread", devices, [devices]() { return startReread(devices); }});
  }
  return all;
}

}  // namespace vfiogate::bench
