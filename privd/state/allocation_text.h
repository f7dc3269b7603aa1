#pragma once
// The text of one file of the record of allocations.

#include "privd/state/allocation_records.h"

#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

/// Bytes of one file that is not empty: some 600 members beside the largest note.
constexpr std::size_t kLargestAllocation = 16384;

/// A file as it was read.
struct AllocationText {
  std::string bootId;  ///< of the boot in which it was written
  AllocatedGroup group;
};

/// True for printable ASCII and newlines, at most kLargestNote bytes, not empty.
bool isNote(std::string_view text);

/// `format=2`, `boot=ID`, `members=` with addresses apart by spaces, an empty line, the note, and
/// `sha256=` of all that is before it.
std::string allocationText(const std::string& bootId, const AllocatedGroup& group);

/// Reads what allocationText() writes, whole, and nothing else. Null: it makes no sense, as after a
/// write that was not finished.
std::optional<AllocationText> readAllocation(std::string_view text);

}  // namespace vfiogate
