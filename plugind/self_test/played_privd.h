#pragma once
// privd's gate and hardware process as the self-test plays them: one device, on vfio-pci, and
// nothing on record.

#include "plugind/self_test/scratch_directory.h"

#include <functional>
#include <thread>

namespace vfiogate {

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
