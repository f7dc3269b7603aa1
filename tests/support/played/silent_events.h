#pragma once
// Who hears of privd, and does nothing.

#include "plugind/privd/privd_view.h"

#include <string>

namespace vfiogate::test {

/// Knows how often the hardware was told, and whether privd is there. What a test is about it
/// overrides.
class SilentEvents : public PrivdEvents {
public:
  virtual ~SilentEvents() = default;

  void hardwareSeen(const Snapshot& /*snapshot*/) override {
    ++updates;
    there = true;
  }
  void allocationsTold(const RecordedAllocations& /*recorded*/) override {}
  void rightToBindTold(RightToBind /*right*/) override {}
  void socketsAvailable() override {}
  void kubeletAppeared(const KubeletIdentity& /*kubelet*/) override {}
  void podResourcesAppeared() override {}
  void checkpointReplaced() override {}
  void configurationPosted(const std::string& /*text*/) override {}
  void privdWent() override { there = false; }

  unsigned updates = 0;
  bool there = false;
};

}  // namespace vfiogate::test
