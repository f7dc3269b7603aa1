#pragma once
// Who holds an IOMMU group, as far as plugind knows.

#include <chrono>
#include <compare>
#include <cstdint>
#include <set>
#include <string>

#include "ipc/types/bdf.h"
#include "ipc/types/resource_name.h"

namespace vfiogate {

/// Four hex digits that stand beside a holder in the log and for it in a refusal.
class HolderRef {
public:
  explicit HolderRef(std::uint16_t number) : number_(number) {}
  std::string str() const;
  friend auto operator<=>(const HolderRef&, const HolderRef&) = default;

private:
  std::uint16_t number_;
};

/// One lending (ledger.md 2). It follows addresses, not group numbers, which are reused.
struct HolderRecord {
  ResourceName resource;
  std::set<Bdf> ids;      ///< what the kubelet offered in the latest grant
  std::set<Bdf> rest;     ///< of earlier grants of this record, and not offered in the latest
  std::set<Bdf> members;  ///< every address of the group when it was lent
  std::chrono::sys_seconds answeredAt;
  HolderRef ref;

  friend bool operator==(const HolderRecord&, const HolderRecord&) = default;
};

/// The time of day in UTC, "10:42:07Z": how a refusal says since when.
std::string clockText(std::chrono::sys_seconds time);

}  // namespace vfiogate
