#pragma once
// A report on a change of drivers, for people and for programs.

#include "ipc/types/binding_change.h"
#include "privd/cli/binding/holders.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace vfiogate {

/// Who has the devices open that an objection is about.
using HoldersOf = std::map<Bdf, Holders>;

/// What goes to stdout, and what to stderr: whatever stands in the way, and whatever is not as it
/// was found. `errFirst`: it did not go well, and why is read first.
struct Printed {
  std::string out;
  std::string err;
  bool errFirst = false;
};

/// How a report is told.
struct ReportStyle {
  bool colours = false;
  bool plan = false;  ///< with every write; a dry run has them anyway
};
Printed changeText(const ChangeOrder& order, const ChangeReport& report, const HoldersOf& holders,
                   const ReportStyle& style);

/// The document of `privd bind -o json`.
nlohmann::ordered_json changeJson(const ChangeOrder& order, const ChangeReport& report,
                                  const HoldersOf& holders);

/// "bind" or "unbind".
const char* nameOf(ChangeKind kind);

}  // namespace vfiogate
