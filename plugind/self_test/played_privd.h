#pragma once
// privd's gate and hardware process as the self-test plays them: one device, on vfio-pci, and
// nothing on record. And where the test's sockets are.

#include "ipc/types/bdf.h"

#include <functional>
#include <string>
#include <thread>

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

/// Dials plugind from a thread of its own, again until it listens, and answers until it leaves.
class PlayedPrivd {
public:
  /// `left` is called on that thread when plugind has left, or `isOver` says so. Keeps all.
  PlayedPrivd(ScratchPlaces places, std::function<bool()> isOver, std::function<void()> left);
  /// Waits for that.
  ~PlayedPrivd();
  PlayedPrivd(const PlayedPrivd&) = delete;
  PlayedPrivd& operator=(const PlayedPrivd&) = delete;

private:
  void run();

  const ScratchPlaces places_;
  const std::function<bool()> isOver_;
  const std::function<void()> left_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace vfiogate
