#pragma once
// Where the bench's files are: in memory, seen by nobody else.

#include "sim/base/temp_dir.h"

namespace vfiogate::bench {

/// A tmpfs in a mount namespace of its own, in which every TempDir made from now on is. To be made
/// while the process has one thread.
class OwnPlace {
public:
  OwnPlace();
  ~OwnPlace();
  OwnPlace(const OwnPlace&) = delete;
  OwnPlace& operator=(const OwnPlace&) = delete;

private:
  TempDir place_;
};

}  // namespace vfiogate::bench
