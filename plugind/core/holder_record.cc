#include "plugind/core/holder_record.h"

#include "ipc/types/hex.h"

namespace vfiogate {
namespace {

std::string twoDigits(long number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

}  // namespace

std::string HolderRef::str() const {
  return hexDigits(number_, 4);
}

std::string clockText(std::chrono::sys_seconds time) {
  const std::chrono::hh_mm_ss clock(time - std::chrono::floor<std::chrono::days>(time));
  return twoDigits(clock.hours().count()) + ":" + twoDigits(clock.minutes().count()) + ":" +
         twoDigits(clock.seconds().count()) + "Z";
}

}  // namespace vfiogate
