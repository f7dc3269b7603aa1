#pragma once
// A file that the kubelet keeps: whoever reads it sees one whole version (kubelet-contract.md 5.4).

#include <string>

namespace vfiogate::sim {

/// Puts `text` in the place of the file, mode 0600.
void keepFile(const std::string& path, const std::string& text);

/// Empty if there is none.
std::string keptText(const std::string& path);

}  // namespace vfiogate::sim
