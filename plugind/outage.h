#pragma once
// privd's absence, as far as lending cares: advertising fails static, lending fails closed (I3).

#include "plugind/core/advertise.h"

#include <utility>

namespace vfiogate {

/// A value, without a clock: whoever has one says when `grace` is over.
class Outage {
public:
  bool away() const { return away_; }
  Lending lending() const { return away_ && over_ ? Lending::kClosed : Lending::kOpen; }

  /// privd went: frames stand, and one Allocate may wait for it.
  void begin() { *this = Outage(false); }
  /// A snapshot is here.
  void end() { away_ = false; }

  /// The grace is over, or a refusal showed that it is of no use.
  void close() { over_ = true; }

  /// True once per outage.
  bool mayWait() { return away_ && !std::exchange(waited_, true); }

  /// At the start of the process nothing can be checked and nothing was ever shown.
  Outage() : Outage(true) {}

private:
  explicit Outage(bool over) : over_(over) {}

  bool away_ = true;
  bool over_;
  bool waited_ = false;
};

}  // namespace vfiogate
