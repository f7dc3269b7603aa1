// What the kubelet is shown, what it asks of the device plugins, and the answers to it.

#include "plugind/base/own_threads.h"
#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/ledger/locality.h"
#include "plugind/loop/state_loop.h"

#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kEnded = "the resource has no device any more";

}  // namespace

void StateLoop::show(const std::map<ResourceName, Frame>& frames) {
  for (const auto& [name, frame] : frames) {
    AdvertisedResource* resource = resources_.find(name);
    if (resource == nullptr) {
      const AllocationSettings allocation = allocationOf(ledger_.state(), name);
      if (!mayRegister(ledger_.state().hardware.specs, name, allocation, frame)) continue;
      resource = &resources_.start(name);
    }
    resource->show(frame);
  }
}

void StateLoop::streamOpened(const ResourceName& name, std::shared_ptr<ListWatchStream> stream) {
  AdvertisedResource* resource = resources_.find(name);
  if (resource == nullptr) return stream->end(grpc::Status(grpc::UNAVAILABLE, kEnded));
  resource->streamOpened(std::move(stream));
}

void StateLoop::streamEnded(const ResourceName& name, const ListWatchStream& stream) {
  AdvertisedResource* resource = resources_.find(name);
  if (resource != nullptr) resource->streamEnded(stream);
}

void StateLoop::allocateAsked(const ResourceName& name, std::shared_ptr<AllocateCall> call) {
  if (call->claimed()) return;  // the kubelet hung up
  const AdvertisedResource* resource = resources_.find(name);
  if (resource == nullptr) {
    if (call->claim()) call->refuse(grpc::UNAVAILABLE, kEnded);
    return;
  }
  if (refusedWithoutThreads(*call)) return;
  const AllocateRequest request{name, call->ids(), resource->shown(call->ids())};
  carryOut(ledger_.allocateAsked(calls_.open(call), request, now()));
}

void StateLoop::startAsked(const ResourceName& name, std::shared_ptr<StartCall> call) {
  if (call->claimed()) return;
  if (refusedWithoutThreads(*call)) return;
  carryOut(ledger_.preStartAsked(calls_.open(call), {name, call->ids()}, now()));
}

void StateLoop::preferenceAsked(const ResourceName& resource, std::shared_ptr<PreferCall> call) {
  const Locality locality = localityOf(ledger_.state(), resource, now().instant);
  std::vector<std::vector<std::string>> answers;
  for (PreferredRequest& request : call->takeRequests()) {
    request.beside = locality.beside;
    answers.push_back(preferredDevices(request, locality.candidates));
  }
  if (call->claim()) call->answer(answers);
}

void StateLoop::callCancelled(const std::shared_ptr<KubeletCall>& call) {
  if (const auto id = calls_.forget(call)) carryOut(ledger_.callCancelled(*id, now()));
}

void StateLoop::answer(const Answer& answer) {
  if (claims_ != nullptr && claims_->answered(answer)) return;
  const auto ended = calls_.answer(answer);
  if (!ended) return;
  if (!ended->taken) return carryOut(ledger_.callCancelled(answer.call, now()));
  if (ended->allocateTook) metrics_.allocateAnswered(*ended->allocateTook, !answer.refusal);
}

}  // namespace vfiogate
