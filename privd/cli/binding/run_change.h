#pragma once
// One order from the command line, from the service to the terminal.

#include "privd/cli/binding/change_text.h"
#include "privd/cli/binding/control_options.h"

#include <iosfwd>

namespace vfiogate {

/// How the end of it is told.
struct ChangeDisplay {
  std::ostream& out;
  std::ostream& err;
  std::string form = "table";  ///< else one of documentText()
  ReportStyle style = {};
  /// After this long somebody is told that it still runs; null: nobody watches.
  kj::Maybe<kj::Duration> patience = nullptr;
  /// Takes each document, with its device as `address`, in place of `out`.
  nlohmann::ordered_json* list = nullptr;
};

/// Who has the devices open that stand in the way. Empty where nothing does.
HoldersOf findHolders(const ControlOptions& options, const ChangeReport& report);

/// An order with whose it is.
struct ChangeAsked {
  ChangeOrder order;
  ChangeBy by = ChangeBy::kOperator;
  AuditPeer who = thisPeer();
};

/// Prints what became of an order. Returns the exit code.
int tellChange(const ChangeOrder& order, const ChangeReport& report, const ControlOptions& options,
               const ChangeDisplay& display);

/// Gives the order and prints what became of it. Returns the exit code: 3, too, where the service
/// broke off, since nobody knows then.
int runChange(BindingService& service, kj::AsyncIoContext& io, const ChangeAsked& asked,
              const ControlOptions& options, ChangeDisplay display);

}  // namespace vfiogate
