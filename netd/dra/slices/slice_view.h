#pragma once
// The slices of our driver and node as the API server has them, as far as we have been told. Pure.

#include "netd/dra/slices/slice_plan.h"
#include "netd/dra/slices/slice_requests.h"

#include <string>
#include <vector>

namespace vfiogate {

/// Answers to our writes come beside the watch: what is older than what is known changes nothing.
class SliceView {
public:
  const ObservedSlices& slices() const { return slices_; }
  const SliceEchoes& echoes() const { return echoes_; }
  /// Up to which all is known: where a watch goes on.
  const std::string& version() const { return version_; }

  /// A list anew. Echoes stay.
  void begin();
  void add(SlicePage page);
  /// Somebody else's slice, whose name we were refused; until the next list.
  void addStranger(Slice slice);

  /// From the watch. True: a slice is not as it was known.
  bool hear(const SliceEvent& event);
  /// `write` was answered; `stored`: with this, of a create or an update.
  void wrote(const SliceWrite& write, const Slice& stored);
  void deleted(const std::string& name) { slices_.erase(name); }

  /// Of `wanted`, which stand there.
  KeptFields kept(const std::vector<Slice>& wanted) const;

private:
  ObservedSlices slices_;
  SliceEchoes echoes_;
  std::string version_;
};

}  // namespace vfiogate
