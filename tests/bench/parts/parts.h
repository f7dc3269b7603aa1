#pragma once
// Parts of the product that are measured by themselves, without another process.

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate::bench {

/// One part at work on a node of its own.
class Running {
public:
  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  virtual ~Running() noexcept(false) = default;

  /// What must be so before it runs; not measured.
  virtual void prepare() {}
  virtual void run() = 0;
};

struct Part {
  std::string name;
  std::function<std::unique_ptr<Running>()> start;
};

/// All of them, on nodes of several sizes.
std::vector<Part> parts();

/// Those that `counts.py --growing` counts, "ALONG/VALUE/NAME": of nodes that differ in one number.
std::vector<Part> growingParts();

}  // namespace vfiogate::bench
