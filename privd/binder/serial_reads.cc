#include "privd/binder/serial_reads.h"

#include "privd/scan/pci_scan.h"

#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kCardPause = 1 * kj::SECONDS;

SerialRead readOf(WriteOutcome outcome) {
  switch (outcome.kind) {
    case WriteOutcome::Kind::kWritten:
      return {0, std::move(outcome.serial)};
    case WriteOutcome::Kind::kFailed:
    case WriteOutcome::Kind::kRefused:
      // ENODEV: what it says is no vital product data.
      return {outcome.error == ENODEV ? 0 : outcome.error};
    case WriteOutcome::Kind::kStuck:
      return {ETIMEDOUT};
    case WriteOutcome::Kind::kDied:
      break;
  }
  return {EIO};
}

}  // namespace

kj::Promise<SerialRead> SerialReads::read(const Bdf& device) {
  const auto now = timer_.now();
  std::erase_if(asked_, [now](const auto& entry) { return entry.second + kCardPause <= now; });
  const auto asked = asked_.find(device);
  if (asked == asked_.end()) return ask(device);
  return timer_.atTime(asked->second + kCardPause).then([this, device]() { return read(device); });
}

kj::Promise<SerialRead> SerialReads::ask(const Bdf& device) {
  auto vpd = openVitalData(sysfs_, device);
  if (!vpd) return SerialRead{vpd.error().error == ENOENT ? 0 : vpd.error().error};
  asked_.insert_or_assign(device, timer_.now());
  return writer_.readSerial((device.str() + " vpd").c_str(), kj::mv(vpd).value())
      .then([](WriteOutcome outcome) { return readOf(std::move(outcome)); });
}

}  // namespace vfiogate
