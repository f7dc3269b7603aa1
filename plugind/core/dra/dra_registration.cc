#include "plugind/core/dra/dra_registration.h"

namespace vfiogate {
namespace {

DraRegistrationState after(bool registered) {
  return registered ? DraRegistrationState::kRegistered : DraRegistrationState::kRefused;
}

}  // namespace

bool DraRegistration::begin() {
  state_ = DraRegistrationState::kAttempting;
  due_.reset();
  early_.reset();
  return true;
}

bool DraRegistration::wanted() {
  return state_ == DraRegistrationState::kUnwanted && begin();
}

bool DraRegistration::socketsCame() {
  if (state_ == DraRegistrationState::kUnwanted) return false;
  backoff_.reset();
  return begin();
}

bool DraRegistration::tick(Instant now) {
  return due_ && now >= *due_ && begin();
}

void DraRegistration::attemptEnded(bool made, Instant now, double draw) {
  if (state_ != DraRegistrationState::kAttempting) return;
  if (!made) {
    state_ = DraRegistrationState::kPausing;
    due_ = now + backoff_.next(draw);
    return;
  }
  backoff_.reset();
  state_ = early_ ? after(*early_) : DraRegistrationState::kFindable;
}

bool DraRegistration::told(bool registered) {
  switch (state_) {
    case DraRegistrationState::kAttempting:
      early_ = registered;
      return true;
    case DraRegistrationState::kFindable:
    case DraRegistrationState::kRefused:
    case DraRegistrationState::kRegistered:
      state_ = after(registered);
      return true;
    case DraRegistrationState::kUnwanted:
    case DraRegistrationState::kPausing:
      break;
  }
  return false;
}

std::string_view nameOf(DraRegistrationState state) {
  switch (state) {
    case DraRegistrationState::kUnwanted:
      return "unwanted";
    case DraRegistrationState::kAttempting:
      return "attempting";
    case DraRegistrationState::kPausing:
      return "pausing";
    case DraRegistrationState::kFindable:
      return "findable";
    case DraRegistrationState::kRefused:
      return "refused";
    case DraRegistrationState::kRegistered:
      return "registered";
  }
  return "unknown";
}

}  // namespace vfiogate
