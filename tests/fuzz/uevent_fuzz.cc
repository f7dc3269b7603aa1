// Whatever a datagram says that looks like a kernel's event: it is a hint to one place at most, and
// no hint where it names none of the subsystems that a snapshot shows.

#include "privd/scan/uevent_socket.h"
#include "tests/fuzz/fuzz_input.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using vfiogate::require;
  const std::string_view datagram = vfiogate::textOf(data, size);
  const auto hint = vfiogate::hintOf(datagram);
  if (!hint) return 0;
  require(hint->size() <= 1);
  require(datagram.find('@') < datagram.find('\0'));
  require(datagram.find("SUBSYSTEM=") != std::string_view::npos);
  for (const auto& device : hint->devices) require(device.device() < 32 && device.function() < 8);
  return 0;
}
