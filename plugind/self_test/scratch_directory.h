#pragma once
// Where the self-test's sockets are, and what they are for.

#include "ipc/types/bdf.h"
#include "seccomp/drop_privileges.h"

#include <string>

namespace vfiogate {

inline constexpr const char* kScratchResource = "vfiogate.dev/self-test";

struct ScratchPlaces {
  std::string directory;  ///< of all of them

  /// plugind's own socket, which privd dials.
  std::string plugind() const { return directory + "/plugind/plugind.sock"; }
  /// The kubelet's, where plugins register.
  std::string registration() const { return directory + "/kubelet.sock"; }
  /// The kubelet's PodResources.
  std::string podResources() const { return directory + "/pod-resources.sock"; }
  /// The only one that there is.
  static Bdf device() { return Bdf::parse("0000:01:00.0").value(); }
};

/// Those places, in a directory for temporary files that goes with it.
class ScratchDirectory {
public:
  /// `user`: whom root lets in. Throws std::system_error.
  explicit ScratchDirectory(const Identity& user);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  /// As long as this lives.
  const ScratchPlaces& places() const { return places_; }

private:
  ScratchPlaces places_;
};

}  // namespace vfiogate
