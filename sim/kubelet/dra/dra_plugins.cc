#include "sim/kubelet/dra/dra_plugins.h"

#include "sim/kubelet/dra/dra_connection.h"

#include <algorithm>
#include <utility>

namespace vfiogate::sim {
namespace {

constexpr int kWipeTries = 10;

}  // namespace

DraPlugins::DraPlugins(const DraTimes& times, Errands& errands, std::shared_ptr<SliceWiper> wiper,
                       Listener listener)
    : times_(times), errands_(errands), wiper_(std::move(wiper)), listener_(std::move(listener)) {}

DraPlugins::~DraPlugins() {
  close();
}

std::string DraPlugins::add(const std::string& driver, const std::string& endpoint,
                            const std::string& version) {
  const std::lock_guard lock(mutex_);
  if (closed_) return "the kubelet stops";
  auto& instances = drivers_[driver].instances;
  for (const Instance& instance : instances) {
    if (instance.seen.endpoint == endpoint) {
      return "endpoint " + endpoint + " already registered for DRA driver plugin " + driver;
    }
  }
  const std::uint64_t number = ++last_;
  // What its threads tell waits for our lock, and finds the instance in the list.
  instances.push_back(
      {.seen = {.endpoint = endpoint, .version = version},
       .number = number,
       .connection = std::make_shared<DraConnection>(
           endpoint, version, times_,
           DraConnection::Listener{
               .connection = [this, driver, number](bool is) { connected(driver, number, is); },
               .health = [this, driver](const auto& frame) { listener_.health(driver, frame); },
               .healthEnded = [this, driver]() { healthEnded(driver); }})});
  judge(driver, drivers_[driver]);
  changed_.notify_all();
  return "";
}

void DraPlugins::remove(const std::string& driver, const std::string& endpoint) {
  std::list<Instance> gone;
  {
    const std::lock_guard lock(mutex_);
    auto& instances = drivers_[driver].instances;
    const auto found = std::ranges::find_if(
        instances, [&](const Instance& instance) { return instance.seen.endpoint == endpoint; });
    if (found == instances.end()) return;
    gone.splice(gone.end(), instances, found);
    judge(driver, drivers_[driver]);
    changed_.notify_all();
  }
  gone.front().connection->close();
}

void DraPlugins::connected(const std::string& driver, std::uint64_t number, bool connected) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    for (Instance& instance : drivers_[driver].instances) {
      if (instance.number == number) instance.seen.connected = connected;
    }
    judge(driver, drivers_[driver]);
    changed_.notify_all();
  }
  listener_.told("DRA driver " + driver + (connected ? " is connected" : " is disconnected"));
}

void DraPlugins::healthEnded(const std::string& driver) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;  // a killed kubelet forgets nothing
  }
  listener_.healthEnded(driver);
}

void DraPlugins::judge(const std::string& name, Driver& driver) {
  const bool served = std::ranges::any_of(
      driver.instances, [](const Instance& instance) { return instance.seen.connected; });
  if (served || closed_) {
    errands_.cancel(std::exchange(driver.wipe, 0));
    driver.wiping = false;
    ++driver.wipeTurn;
  } else if (!driver.wiping) {
    driver.wiping = true;
    driver.wipe = errands_.after(times_.wipeAfter,
                                 [this, name, turn = driver.wipeTurn]() { wipe(name, turn, 1); });
  }
}

void DraPlugins::wipe(const std::string& name, std::uint64_t turn, int tries) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || drivers_[name].wipeTurn != turn) return;
  }
  if (!wiper_) return;
  if (wiper_->wipeDriver(name)) {
    listener_.told("the slices of DRA driver " + name + " are wiped");
    return;
  }
  const auto pause = pauseAfter(tries);
  const std::lock_guard lock(mutex_);
  Driver& driver = drivers_[name];
  if (closed_ || driver.wipeTurn != turn || !pause) return;
  driver.wipe =
      errands_.after(*pause, [this, name, turn, tries]() { wipe(name, turn, tries + 1); });
}

void DraPlugins::wipeNode() {
  wipeNodeAgain(1);
}

void DraPlugins::wipeNodeAgain(int tries) {
  if (!wiper_ || wiper_->wipeNode()) return;
  const auto pause = pauseAfter(tries);
  if (pause) errands_.after(*pause, [this, tries]() { wipeNodeAgain(tries + 1); });
}

std::optional<std::chrono::milliseconds> DraPlugins::pauseAfter(int tries) const {
  if (tries >= kWipeTries) return std::nullopt;
  return times_.wipeAgain * (1 << (tries - 1));
}

std::shared_ptr<DraConnection> DraPlugins::pick(const std::string& driver) const {
  const std::lock_guard lock(mutex_);
  const auto found = drivers_.find(driver);
  if (found == drivers_.end() || found->second.instances.empty()) return nullptr;
  const auto& instances = found->second.instances;
  for (auto instance = instances.rbegin(); instance != instances.rend(); ++instance) {
    if (instance->seen.connected) return instance->connection;
  }
  return instances.back().connection;
}

std::vector<DraInstance> DraPlugins::seen(const std::string& driver) const {
  std::vector<DraInstance> all;
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) return all;
  for (const Instance& instance : found->second.instances) all.push_back(instance.seen);
  return all;
}

std::vector<DraInstance> DraPlugins::instances(const std::string& driver) const {
  const std::lock_guard lock(mutex_);
  return seen(driver);
}

bool DraPlugins::await(const std::string& driver,
                       const std::function<bool(const std::vector<DraInstance>&)>& holds,
                       std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&]() { return holds(seen(driver)); });
}

void DraPlugins::close() {
  std::list<Instance> gone;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [name, driver] : drivers_) {
      gone.splice(gone.end(), driver.instances);
      judge(name, driver);
    }
    changed_.notify_all();
  }
  for (Instance& instance : gone) instance.connection->close();
}

}  // namespace vfiogate::sim
