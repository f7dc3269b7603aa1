#pragma once
// PCI addresses as people type them.

#include "ipc/base/result.h"
#include "ipc/types/bdf.h"

#include <string>
#include <vector>

namespace vfiogate {

/// "01:00.0" stands for "0000:01:00.0", as lspci writes it. Error: in words.
Result<Bdf, std::string> addressOf(const std::string& text);

/// All of them, each once, in the order in which they were given.
Result<std::vector<Bdf>, std::string> addressesOf(const std::vector<std::string>& texts);

}  // namespace vfiogate
