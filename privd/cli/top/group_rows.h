#pragma once
// What `privd top` shows: a row a group, and the last refusals. Pure.

#include "privd/cli/base/node_view.h"
#include "privd/cli/base/recorded_holders.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

/// One IOMMU group that has more than parts of the machine.
struct GroupRow {
  std::uint32_t group = 0;
  std::string state;    ///< of its first device that cannot be passed through, else of the first
  std::string drivers;  ///< of its devices, each once
  std::string devices;  ///< addresses and UUIDs
  std::string name;     ///< of the first device
  std::string holder;   ///< empty: nobody who is on record
  std::string since;    ///< UTC, as RecordedHolder has it

  friend bool operator==(const GroupRow&, const GroupRow&) = default;
};

/// Ascending by group.
std::vector<GroupRow> rowsOf(const NodeView& view, const RecordedHolders& holders);

/// A change of drivers that was refused.
struct Refusal {
  std::string time;  ///< UTC, seconds
  std::string text;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// Those among these lines of an audit log, the oldest first.
std::vector<Refusal> refusalsIn(const std::vector<std::string>& lines);

/// All that is known at one moment.
struct TopPicture {
  std::int64_t now = 0;  ///< s since 1970
  std::vector<GroupRow> rows;
  std::vector<Refusal> refusals;
  std::vector<std::string> remarks;  ///< what could not be read
};

/// How much of it is shown, and how.
struct Screen {
  std::size_t width = 0;   ///< 0: no limit
  std::size_t height = 0;  ///< 0: no limit
  std::size_t first = 0;   ///< row at the top; beyond the last page: the last page
  bool colours = false;
};

/// At most `height` lines, none wider than `width`.
std::vector<std::string> linesOf(const TopPicture& picture, const Screen& screen);

/// How far `first` can go.
std::size_t lastFirst(const TopPicture& picture, std::size_t height);

/// A line for each group that is new, gone or another than before, and for each new refusal.
std::string changesText(const TopPicture& before, const TopPicture& after);

/// "5s", "12m", "3h10m", "4d2h"
std::string ageText(std::int64_t seconds);

}  // namespace vfiogate
