#pragma once
// The table of `privd list`.

#include "privd/cli/base/list_filter.h"
#include "privd/cli/base/node_view.h"

#include <string>

namespace vfiogate {

/// The devices that `filter` shows, group by group, at most `width` wide (0: no limit), which 80
/// always allows: where reasons do not fit beside their devices they stand below them, and are the
/// last to be cut; where class, node and use do not fit either they are left out.
std::string listTable(const NodeView& view, const ListFilter& filter, std::size_t width,
                      bool colours);

/// What is behind the table: how many devices there are, and what to know of those that are not
/// shown.
std::string listSummary(const NodeView& view, const ListFilter& filter);

}  // namespace vfiogate
