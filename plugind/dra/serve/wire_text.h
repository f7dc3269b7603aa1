#pragma once
// Words for people, as they may go to the kubelet.

#include <cstddef>
#include <string>
#include <string_view>

namespace vfiogate {

/// The kubelet's own limit of a device's message; an error ends in an event, which holds as much.
constexpr std::size_t kLongestWireText = 1024;

/// `text`, cut after kLongestWireText bytes with three dots at its end. What is not ASCII is
/// replaced: one byte that is not UTF-8 makes a whole message unreadable for Go's protobuf.
std::string wireText(std::string_view text);

}  // namespace vfiogate
