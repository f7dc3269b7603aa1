#pragma once
// `plugind status` and `plugind explain` for people, made from the documents for machines.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

namespace vfiogate {

/// `width` of the terminal; 0: no limit.
std::string statusTable(const nlohmann::json& status, std::size_t width, bool colours);

std::string explanationText(const nlohmann::json& explanation);

}  // namespace vfiogate
