#pragma once
// Which devices `privd list` shows.

#include "ipc/types/selector.h"
#include "ipc/types/unit_id.h"

#include <string>
#include <vector>

namespace vfiogate {

struct ListFilter {
  std::vector<UnitId> devices;      ///< empty: all
  std::vector<Selector> selectors;  ///< any of them; empty: all
  std::vector<std::string> states;  ///< as stateOf() says them; empty: all
  bool all = false;                 ///< bridges and other parts of the machine, too
};

/// Every word that stateOf() may say.
std::vector<std::string> stateNames();

/// What is wrong with a word that shall be a state, for people; empty: nothing.
std::string checkState(const std::string& word);

/// True for bridges and other parts of the machine, which nobody passes through.
bool isPartOfMachine(const Snapshot& snapshot, const PciDevice& device);

/// What `device` has to be besides isPartOfMachine().
bool passes(const ListFilter& filter, const Snapshot& snapshot, const PciDevice& device);

/// A mediated device is asked for by its UUID, its parent, or its type.
bool passes(const ListFilter& filter, const Snapshot& snapshot, const MediatedDevice& device);

/// Whether `device` is shown. Parts of the machine are where `filter` asks for all, names their
/// address or their state.
bool isShown(const ListFilter& filter, const Snapshot& snapshot, const PciDevice& device);

}  // namespace vfiogate
