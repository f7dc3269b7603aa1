#pragma once
// How the stand-in kubelet treats DRA.

#include "sim/kubelet/dra/claim_source.h"
#include "sim/kubelet/dra/dra_times.h"
#include "sim/kubelet/dra/slice_wiper.h"

#include <memory>
#include <string>
#include <vector>

namespace vfiogate::sim {

struct DraOptions {
  DraTimes times = {};
  /// The identifiers that this kubelet knows; an older one knows only the second.
  std::vector<std::string> services = {"v1.DRAPlugin", "v1beta1.DRAPlugin"};
  std::shared_ptr<ClaimSource> claims = {};  ///< null: no claim can be had
  std::shared_ptr<SliceWiper> slices = {};   ///< null: nothing is wiped
  /// What a driver answers to a repeated prepare is added to what it answered before, as in 1.36.2;
  /// later ones replace it (K28).
  bool appendsDevices = true;
  /// The last pod that refers to a claim is taken for the one that ends, whichever it is, as in
  /// 1.36.2 (K27).
  bool lastReferenceIsAnybodys = true;
};

}  // namespace vfiogate::sim
