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
/// was found.
struct Printed {
  std::string out;
  std::string err;
};
Printed changeText(const ChangeOrder& order, const ChangeReport& report, const HoldersOf& holders,
                   bool colours);

/// The document of `privd bind -o json`.
nlohmann::ordered_json changeJson(const ChangeOrder& order, const ChangeReport& report,
                                  const HoldersOf& holders);

/// "bind" or "unbind".
const char* nameOf(ChangeKind kind);

}  // namespace vfiogate
