#include "tests/bench/parts/scan_parts.h"

#include "privd/scan/snapshot_source.h"
#include "tests/bench/bare_read.h"
#include "tests/bench/node_under_test.h"
#include "tests/support/fake_sysfs.h"

namespace vfiogate::bench {
namespace {

/// A directory laid out like sysfs, and a reading of it.
class Tree {
public:
  explicit Tree(unsigned devices) : devices_(devices) {
    for (unsigned number = 0; number < devices; ++number) {
      files_.add({.address = addressOf(number), .group = number, .numaNode = 0});
    }
    sysfs_.emplace(opened(SysfsRoot::open(files_.sysfs())));
    dev_.emplace(opened(DevRoot::open(files_.dev())));
  }

  unsigned devices() const { return devices_; }
  const FakeSysfs& files() const { return files_; }
  const SysfsRoot& sysfs() const { return *sysfs_; }
  const DevRoot& dev() const { return *dev_; }

private:
  template <typename Root>
  static Root opened(Result<Root, ReadError> root) {
    if (!root) giveUp("a tree just made cannot be opened");
    return std::move(root).value();
  }

  unsigned devices_;
  FakeSysfs files_;
  std::optional<SysfsRoot> sysfs_;
  std::optional<DevRoot> dev_;
};

class Sweep final : public Running {
public:
  explicit Sweep(unsigned devices) : tree_(devices) {}

  void run() override {
    const auto seen = scanUnits(tree_.sysfs(), tree_.dev());
    if (!seen || seen->devices.size() != tree_.devices()) giveUp("not all devices are seen");
  }

private:
  Tree tree_;
};

class GlanceAtAll final : public Running {
public:
  explicit GlanceAtAll(unsigned devices)
      : tree_(devices), reading_(scanDeps(tree_.sysfs(), tree_.dev())) {
    reading_.reread(reading_.everything(), seen_);
  }

  void run() override {
    if (reading_.names() != placesOf(seen_)) giveUp("something came or went");
    for (const auto& [address, device] : seen_.devices) {
      if (reading_.glance(device) != Glance::kSame) giveUp("something was changed");
    }
  }

private:
  Tree tree_;
  ScanDeps reading_;
  Snapshot seen_;
};

class RereadOfOne final : public Running {
public:
  explicit RereadOfOne(unsigned devices) : tree_(devices) {
    auto seen = scanUnits(tree_.sysfs(), tree_.dev());
    if (!seen) giveUp("the tree cannot be read");
    seen_ = std::move(seen).value();
    where_ = {.devices = {*Bdf::parse(addressOf(devices / 2))},
              .groups = {IommuGroupId(devices / 2)}};
  }

  void run() override {
    if (rereadUnits(tree_.sysfs(), tree_.dev(), where_, seen_)) giveUp("nothing was changed");
  }

private:
  Tree tree_;
  Snapshot seen_;
  Places where_;
};

class BareSweep final : public Running {
public:
  explicit BareSweep(unsigned devices)
      : tree_(devices), bare_(tree_.files().sysfs(), tree_.files().dev()) {}

  void run() override {
    for (unsigned number = 0; number < tree_.devices(); ++number) {
      bare_.device(addressOf(number), number);
    }
  }

private:
  Tree tree_;
  BareRead bare_;
};

}  // namespace

std::unique_ptr<Running> startSweep(unsigned devices) {
  return std::make_unique<Sweep>(devices);
}

std::unique_ptr<Running> startGlance(unsigned devices) {
  return std::make_unique<GlanceAtAll>(devices);
}

std::unique_ptr<Running> startReread(unsigned devices) {
  return std::make_unique<RereadOfOne>(devices);
}

std::unique_ptr<Running> startBareSweep(unsigned devices) {
  return std::make_unique<BareSweep>(devices);
}

}  // namespace vfiogate::bench
