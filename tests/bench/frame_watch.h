#pragma once
// When the kubelet was shown what.

#include "proto/deviceplugin.pb.h"
#include "tests/bench/node_under_test.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace vfiogate::bench {

/// Listens to the frames of one resource, from the thread that reads them.
class FrameWatch {
public:
  struct Seen {
    Clock::time_point at;  ///< when the frame had been read, before anybody looked into it
    unsigned frames;       ///< since expect(), this one included
  };

  void heard(const v1beta1::ListAndWatchResponse& frame);

  /// From now on waits for a frame in which all of these have this health.
  void expect(std::vector<std::string> ids, bool healthy);
  /// That frame; gives up after a long time.
  Seen await();

private:
  bool showsAll(const v1beta1::ListAndWatchResponse& frame) const;

  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> ids_;
  bool healthy_ = false;
  bool waiting_ = false;
  Seen seen_{};
};

}  // namespace vfiogate::bench
