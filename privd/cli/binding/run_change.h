#pragma once
// One order from the command line, from the office to the terminal.

#include "privd/cli/binding/change_text.h"
#include "privd/cli/binding/desk_options.h"

#include <iosfwd>

namespace vfiogate {

/// How the end of it is told.
struct ChangeDisplay {
  std::ostream& out;
  std::ostream& err;
  bool json = false;
  bool colours = false;
  /// After this long somebody is told that it still runs; null: nobody watches.
  kj::Maybe<kj::Duration> patience = nullptr;
};

/// Who has the devices open that stand in the way. Empty where nothing does.
HoldersOf lookForHolders(const DeskOptions& options, const ChangeReport& report);

/// Gives the order and prints what became of it. Returns the exit code: 3, too, where the office
/// broke off, since nobody knows then.
int runChange(BindingOffice& office, kj::AsyncIoContext& io, const ChangeOrder& order,
              const DeskOptions& options, ChangeDisplay display);

}  // namespace vfiogate
