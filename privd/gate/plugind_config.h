#pragma once
// The file with plugind's configuration, which plugind cannot open itself.

#include "privd/base/name_watch.h"
#include "privd/base/open_file.h"

#include <kj/async.h>
#include <kj/string.h>

#include <optional>

namespace vfiogate {

/// Watches the file's directory: an edit in place, a rename over it, and the links that Kubernetes
/// swaps to change a ConfigMap (`..data`). Reads no byte of the file.
class PlugindConfig {
public:
  PlugindConfig(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr path);

  /// The file, as soon as it is another one than `known` or cannot be opened for another reason
  /// than that it is missing. EFBIG: above 1 MiB. EINVAL: not a regular file.
  kj::Promise<Result<RegularFile, ReadError>> other(std::optional<FileIdentity> known);

private:
  kj::String path_;
  NameWatch directory_;
};

}  // namespace vfiogate
