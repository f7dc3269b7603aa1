// What the kubelet remembers of its pods: the records, and the checkpoint that carries them over.

#include "sim/kubelet/sim_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace vfiogate::sim {
namespace {

namespace fs = std::filesystem;
constexpr const char* kCheckpoint = "kubelet_internal_checkpoint";

}  // namespace

void KubeletSim::State::writeCheckpoint() {
  Checkpoint checkpoint;
  if (!recorded.empty() && !concealsPods) checkpoint.entries = recorded;
  for (const auto& [name, resource] : resources) {
    if (!resource.known) continue;
    const auto& healthy = resource.devices.healthy();
    checkpoint.registered[name] = {healthy.begin(), healthy.end()};
  }
  if (holdingCheckpoints) {
    heldCheckpoints.push_back(formatCheckpoint(checkpoint));
    changed.notify_all();
    return;
  }
  putCheckpoint(formatCheckpoint(checkpoint));
}

void KubeletSim::State::putCheckpoint(const std::string& text) {
  const std::string temporary = directory + "/.checkpoint-in-the-making";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  fsync(fd);
  close(fd);
  if (!written) return;
  fs::rename(temporary, directory + "/" + kCheckpoint);
  ++checkpointWrites;
}

void KubeletSim::State::readCheckpoint() {
  const std::ifstream file(directory + "/" + kCheckpoint);
  std::stringstream text;
  text << file.rdbuf();
  const auto checkpoint = parseCheckpoint(text.str());
  if (!checkpoint) return;
  recorded = checkpoint->entries.value_or(std::vector<CheckpointEntry>());
  for (const auto& [name, ids] : checkpoint->registered) {
    resources[name].known = true;
    resources[name].endpoint = Endpoint{.client = nullptr, .options = {}, .stopped = options.now()};
  }
  recount();
}

std::set<std::string> idsOf(const CheckpointEntry& entry) {
  std::set<std::string> ids;
  for (const auto& [node, some] : entry.devices) ids.insert(some.begin(), some.end());
  return ids;
}

const CheckpointEntry* KubeletSim::State::recordOf(const std::string& uid,
                                                   const std::string& container,
                                                   const std::string& resource) const {
  for (const CheckpointEntry& entry : recorded) {
    if (entry.podUid == uid && entry.container == container && entry.resource == resource) {
      return &entry;
    }
  }
  return nullptr;
}

void KubeletSim::State::freeInactive() {
  if (!sourcesReady) return;
  const auto freed = std::erase_if(recorded, [this](const CheckpointEntry& entry) {
    const bool pending = options.keepsLastAdmitted && entry.podUid == pendingAdmission;
    return !pending && !isActive(entry.podUid);
  });
  // Without anything to free there is no recount: what is blocked stays so (K15).
  if (freed != 0) recount();
}

void KubeletSim::State::recount() {
  for (auto& [name, resource] : resources) resource.allocated.clear();
  for (const CheckpointEntry& entry : recorded) {
    resources[entry.resource].allocated.merge(idsOf(entry));
  }
}

void KubeletSim::holdCheckpoints() {
  const std::lock_guard lock(state_->mutex);
  state_->holdingCheckpoints = true;
}

bool KubeletSim::awaitHeldCheckpoints(std::size_t count) {
  return state_->await([&]() { return state_->heldCheckpoints.size() >= count; });
}

void KubeletSim::writeHeldCheckpoint(std::size_t index) {
  const std::lock_guard lock(state_->mutex);
  auto& held = state_->heldCheckpoints;
  state_->putCheckpoint(held.at(index));
  held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
}

void KubeletSim::releaseCheckpoints() {
  const std::lock_guard lock(state_->mutex);
  for (const std::string& text : state_->heldCheckpoints) state_->putCheckpoint(text);
  state_->heldCheckpoints.clear();
  state_->holdingCheckpoints = false;
}

void KubeletSim::loseCheckpoint() {
  const std::lock_guard lock(state_->mutex);
  fs::remove(state_->directory + "/" + kCheckpoint);
}

void KubeletSim::corruptCheckpoint() {
  const std::lock_guard lock(state_->mutex);
  const std::string path = state_->directory + "/" + kCheckpoint;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::ofstream(path) << text.str().substr(0, text.str().size() / 2);
}

void KubeletSim::concealPods() {
  const std::lock_guard lock(state_->mutex);
  state_->concealsPods = true;
  state_->writeCheckpoint();
}

}  // namespace vfiogate::sim
