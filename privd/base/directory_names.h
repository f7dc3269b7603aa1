#pragma once
// What is in a directory.

#include "privd/base/open_file.h"

#include <string>
#include <vector>

namespace vfiogate {

/// The names in a directory that is open for reading, without "." and "..", in no order. EOVERFLOW:
/// more than 65,536.
Result<std::vector<std::string>, ReadError> directoryNames(kj::AutoCloseFd directory);

}  // namespace vfiogate
