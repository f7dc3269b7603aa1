#include "plugind/kubelet/open_calls.h"

#include "plugind/core/resource/static_specs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace vfiogate {
namespace {

/// UNAVAILABLE: nothing is known against the device, another try may succeed.
grpc::StatusCode codeOf(const Refusal& refusal) {
  constexpr std::array<std::string_view, 8> kPassing{
      "privd-away",  "not-adopted",     "timed-out", "cannot-probe",
      "cannot-tell", "being-allocated", "starting",  kSpecReason};
  const bool passing = std::ranges::find(kPassing, refusal.reason) != kPassing.end();
  return passing ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::FAILED_PRECONDITION;
}

}  // namespace

CallId OpenCalls::open(const std::shared_ptr<AllocateCall>& call) {
  return add({.call = call, .allocate = call.get()});
}

CallId OpenCalls::open(const std::shared_ptr<StartCall>& call) {
  return add({.call = call, .start = call.get()});
}

CallId OpenCalls::add(Open open) {
  const CallId id = next();
  open_.emplace(id, std::move(open));
  return id;
}

std::optional<CallId> OpenCalls::forget(const std::shared_ptr<KubeletCall>& call) {
  const auto found =
      std::ranges::find_if(open_, [&call](const auto& entry) { return entry.second.call == call; });
  if (found == open_.end()) return std::nullopt;
  const CallId id = found->first;
  open_.erase(found);
  return id;
}

std::optional<OpenCalls::Ended> OpenCalls::answer(const Answer& answer) {
  const auto found = open_.find(answer.call);
  if (found == open_.end()) return std::nullopt;
  const Open open = found->second;
  open_.erase(found);
  // Its letter may still be on the way.
  if (!open.call->claim()) return Ended{.taken = false, .allocateTook = std::nullopt};
  Ended ended;
  if (open.allocate != nullptr) {
    ended.allocateTook = std::chrono::steady_clock::now() - open.arrived;
  }
  if (answer.refusal) {
    open.call->refuse(codeOf(*answer.refusal), answer.refusal->text);
  } else if (open.allocate != nullptr) {
    open.allocate->grant(answer.response.value_or(AllocationResponse{}));
  } else {
    open.start->pass();
  }
  return ended;
}

}  // namespace vfiogate
