#include "plugind/core/status/registration.h"

namespace vfiogate {
namespace {

/// A registration that stood this long was good: what ends it later is a new story.
constexpr std::chrono::seconds kGood{10};
/// From the kubelet's answer to its ListAndWatch: it opens that before or right after.
constexpr std::chrono::seconds kStreamWait{5};

}  // namespace

Registration::Step Registration::begin(std::optional<RegistrationTurn> turn) {
  state_ = RegistrationState::kAttempting;
  stream_ = Stream::kNone;
  due_.reset();
  return {.attempt = true, .turn = turn};
}

Registration::Step Registration::pause(RegistrationTurn turn, Instant now, double draw) {
  state_ = RegistrationState::kPausing;
  auto& pauses = turn == RegistrationTurn::kUnreachable ? knocks_ : backoff_;
  due_ = now + pauses.next(draw);
  return {.attempt = false, .turn = turn};
}

void Registration::forgetPauses() {
  backoff_.reset();
  knocks_.reset();
}

Registration::Step Registration::wanted() {
  if (state_ != RegistrationState::kUnwanted) return {};
  return begin();
}

Registration::Step Registration::kubeletCame() {
  if (state_ == RegistrationState::kUnwanted) return {};
  forgetPauses();
  return begin(RegistrationTurn::kNewKubelet);
}

Registration::Step Registration::socketsCame() {
  if (state_ != RegistrationState::kPausing) return {};
  forgetPauses();
  return begin();
}

Registration::Step Registration::attemptEnded(RegistrationTurn how, Instant now, double draw) {
  if (state_ != RegistrationState::kAttempting) return {};
  if (how != RegistrationTurn::kTaken) return pause(how, now, draw);
  takenAt_ = now;
  const bool stands = stream_ == Stream::kOpen;
  state_ = stands ? RegistrationState::kStanding : RegistrationState::kAwaitingStream;
  if (!stands) due_ = stream_ == Stream::kEnded ? now : now + kStreamWait;
  return {.attempt = false, .turn = RegistrationTurn::kTaken};
}

Registration::Step Registration::streamOpened() {
  stream_ = Stream::kOpen;
  if (state_ == RegistrationState::kAwaitingStream) {
    state_ = RegistrationState::kStanding;
    due_.reset();
  }
  return {};
}

Registration::Step Registration::streamEnded(Instant now, double draw) {
  // What ends before the attempt's own was opened is of an earlier one.
  if (stream_ == Stream::kOpen) stream_ = Stream::kEnded;
  if (!isRegistered(state_)) return {};
  if (now - takenAt_ >= kGood) forgetPauses();
  return pause(RegistrationTurn::kStreamEnded, now, draw);
}

Registration::Step Registration::tick(Instant now, double draw) {
  if (!due_ || now < *due_) return {};
  if (state_ == RegistrationState::kAwaitingStream) {
    const bool ended = stream_ == Stream::kEnded;
    return pause(ended ? RegistrationTurn::kStreamEnded : RegistrationTurn::kNoStream, now, draw);
  }
  return begin();
}

std::string_view nameOf(RegistrationState state) {
  switch (state) {
    case RegistrationState::kUnwanted:
      return "unwanted";
    case RegistrationState::kAttempting:
      return "attempting";
    case RegistrationState::kPausing:
      return "pausing";
    case RegistrationState::kAwaitingStream:
      return "awaiting-stream";
    case RegistrationState::kStanding:
      return "standing";
  }
  return "unknown";
}

std::string_view nameOf(RegistrationTurn turn) {
  switch (turn) {
    case RegistrationTurn::kTaken:
      return "taken";
    case RegistrationTurn::kRefused:
      return "refused";
    case RegistrationTurn::kUnreachable:
      return "unreachable";
    case RegistrationTurn::kNoSocket:
      return "no-socket";
    case RegistrationTurn::kNoStream:
      return "no-stream";
    case RegistrationTurn::kStreamEnded:
      return "stream-ended";
    case RegistrationTurn::kNewKubelet:
      return "new-kubelet";
  }
  return "unknown";
}

std::string_view sideOf(RegistrationTurn turn) {
  switch (turn) {
    case RegistrationTurn::kTaken:
      return "";
    case RegistrationTurn::kNoSocket:
      return "vfiogate";
    case RegistrationTurn::kRefused:
    case RegistrationTurn::kUnreachable:
    case RegistrationTurn::kNoStream:
    case RegistrationTurn::kStreamEnded:
    case RegistrationTurn::kNewKubelet:
      return "kubelet";
  }
  return "";
}

}  // namespace vfiogate
