// Whatever stands in a file that privd kept over a reboot: it makes no sense, or what is read of it
// is read again from what privd writes of it.

#include "privd/base/sha256.h"
#include "privd/state/allocation_text.h"
#include "privd/state/state_text.h"
#include "tests/fuzz/fuzz_input.h"

#include <algorithm>
#include <string>

namespace vfiogate {
namespace {

template <typename Entry>
std::optional<Entry> readTwice(const Bdf& address, std::string_view text) {
  const auto entry = stateFrom<Entry>(address, text);
  if (!entry) return entry;
  require(text.size() <= kLargestState);
  const auto again = stateFrom<Entry>(address, textOf(*entry));
  require(again && *again == *entry);
  return entry;
}

void readAll(std::string_view text) {
  const Bdf address = Bdf::make(0, 1, 0, 0).value();
  if (const auto bound = readTwice<BoundDevice>(address, text)) {
    require(isOneLine(bound->driver) && isOneLine(bound->formerDriver));
    require(isOneLine(bound->formerOverride) && isOneLine(bound->bootId));
  }
  if (const auto hold = readTwice<Exclusion>(address, text)) {
    require(isOneLine(hold->reason) && hold->reason.size() <= 200);
  }
  readTwice<DeviceIdentity>(address, text);
}

/// One of the record of allocations, as it is and under an end that fits it, which nobody guesses.
void readAllocated(std::string_view text) {
  const auto whole = std::string(text) + "\nsha256=" + sha256Digits(text) + "\n";
  for (const std::string_view each : {text, std::string_view(whole)}) {
    const auto read = readAllocation(each);
    if (!read) continue;
    require(each.size() <= kLargestAllocation && isNote(read->group.note));
    require(std::ranges::is_sorted(read->group.members) && !read->group.members.empty());
    require(allocationText(read->bootId, read->group) == each);
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vfiogate::readAll(vfiogate::textOf(data, size));
  vfiogate::readAllocated(vfiogate::textOf(data, size));
  return 0;
}
