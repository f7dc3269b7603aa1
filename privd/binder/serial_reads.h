#pragma once
// The serial numbers that cards tell, read by a child of the fork server.

#include "ipc/types/bdf.h"
#include "privd/scan/sysfs_root.h"
#include "privd/writer/writer.h"

#include <kj/async.h>
#include <kj/timer.h>

#include <map>
#include <string>

namespace vfiogate {

/// What one read of a card's vital product data ended with.
struct SerialRead {
  int error = 0;         ///< errno; ETIMEDOUT: it has not come back, EBUSY: nor have others
  std::string serial{};  ///< empty: it tells none
};

/// The card answers, and the kernel keeps whoever reads for as long as it does not; a sleeping card
/// is woken up. So one card is asked at most once a second, whoever asks, over whatever channel.
class SerialReads {
public:
  /// Borrows all.
  SerialReads(const SysfsRoot& sysfs, Writer& writer, kj::Timer& timer)
      : sysfs_(sysfs), writer_(writer), timer_(timer) {}
  KJ_DISALLOW_COPY(SerialReads);

  /// Waits where the card was asked within the last second.
  kj::Promise<SerialRead> read(const Bdf& device);

private:
  kj::Promise<SerialRead> ask(const Bdf& device);

  const SysfsRoot& sysfs_;
  Writer& writer_;
  kj::Timer& timer_;
  std::map<Bdf, kj::TimePoint> asked_;  ///< within the last second, no others
};

}  // namespace vfiogate
