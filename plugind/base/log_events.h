#pragma once
// The closed list of what plugind's log can say happened. A new name is added here, nowhere else.
// Allocations and refusals are not here: ledger_journal.h.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vfiogate {

enum class LogEvent : std::uint8_t {
  // Start and end
  kStarted,
  kEnding,
  kStartFailed,
  kNothingNamed,
  kNotRoot,
  kLimitLower,
  // What it says when it cannot go on
  kOutOfMemory,
  kOutOfThreads,
  kAborted,
  // What the library says of itself
  kGrpc,
  // privd
  kPeerRefused,
  kHandshakeFailed,
  kLeaseAwaited,
  kPrivdIncomplete,
  kPrivdCame,
  kPrivdWent,
  kBinderCame,
  kBinderWent,
  kUpdateRefused,
  kAllocationOpened,
  kSpecInPlace,
  kSpecMissing,
  kBindingDenied,
  kBindEnded,
  kReturnEnded,
  // Claims of DRA
  kApiCame,
  kApiWent,
  kPoolUnpublished,
  kFieldsDropped,
  kReportFailed,
  kClaimSpecFailed,
  kClaimSpecUnread,
  // The configuration
  kConfigApplied,
  kConfigWarning,
  kConfigRefused,
  kNameKept,
  // The kubelet
  kAdopting,
  kAdoptionWaits,
  kCheckpointUnread,
  kResourceStarted,
  kResourceEnded,
  kKubeletAppeared,
  kRegistered,
  kRegisterFailed,
  kRegistrationLost,
  kStreamOpened,
  kStreamEnded,
  kFrameShown,
  kAcceptFailed,
  // An exception that nobody expected; the part that it names goes on
  kTaskFailed,
  // What it did not say
  kLinesLeftOut,
};

inline constexpr std::size_t kLogEvents = static_cast<std::size_t>(LogEvent::kLinesLeftOut) + 1;

constexpr std::string_view eventName(LogEvent event) {
  switch (event) {
    case LogEvent::kStarted:
      return "started";
    case LogEvent::kEnding:
      return "ending";
    case LogEvent::kStartFailed:
      return "start_failed";
    case LogEvent::kNothingNamed:
      return "nothing_named";
    case LogEvent::kNotRoot:
      return "not_root";
    case LogEvent::kLimitLower:
      return "limit_lower";
    case LogEvent::kOutOfMemory:
      return "out_of_memory";
    case LogEvent::kOutOfThreads:
      return "out_of_threads";
    case LogEvent::kAborted:
      return "aborted";
    case LogEvent::kGrpc:
      return "grpc";
    case LogEvent::kPeerRefused:
      return "peer_refused";
    case LogEvent::kHandshakeFailed:
      return "handshake_failed";
    case LogEvent::kLeaseAwaited:
      return "lease_awaited";
    case LogEvent::kPrivdIncomplete:
      return "privd_incomplete";
    case LogEvent::kPrivdCame:
      return "privd_came";
    case LogEvent::kPrivdWent:
      return "privd_went";
    case LogEvent::kBinderCame:
      return "binder_came";
    case LogEvent::kBinderWent:
      return "binder_went";
    case LogEvent::kUpdateRefused:
      return "update_refused";
    case LogEvent::kAllocationOpened:
      return "allocation_opened";
    case LogEvent::kSpecInPlace:
      return "spec_in_place";
    case LogEvent::kSpecMissing:
      return "spec_missing";
    case LogEvent::kBindingDenied:
      return "binding_denied";
    case LogEvent::kBindEnded:
      return "bind_ended";
    case LogEvent::kReturnEnded:
      return "return_ended";
    case LogEvent::kApiCame:
      return "api_came";
    case LogEvent::kApiWent:
      return "api_went";
    case LogEvent::kPoolUnpublished:
      return "pool_unpublished";
    case LogEvent::kFieldsDropped:
      return "fields_dropped";
    case LogEvent::kReportFailed:
      return "report_failed";
    case LogEvent::kClaimSpecFailed:
      return "claim_spec_failed";
    case LogEvent::kClaimSpecUnread:
      return "claim_spec_unread";
    case LogEvent::kConfigApplied:
      return "config_applied";
    case LogEvent::kConfigWarning:
      return "config_warning";
    case LogEvent::kConfigRefused:
      return "config_refused";
    case LogEvent::kNameKept:
      return "name_kept";
    case LogEvent::kAdopting:
      return "adopting";
    case LogEvent::kAdoptionWaits:
      return "adoption_waits";
    case LogEvent::kCheckpointUnread:
      return "checkpoint_unread";
    case LogEvent::kResourceStarted:
      return "resource_started";
    case LogEvent::kResourceEnded:
      return "resource_ended";
    case LogEvent::kKubeletAppeared:
      return "kubelet_appeared";
    case LogEvent::kRegistered:
      return "registered";
    case LogEvent::kRegisterFailed:
      return "register_failed";
    case LogEvent::kRegistrationLost:
      return "registration_lost";
    case LogEvent::kStreamOpened:
      return "stream_opened";
    case LogEvent::kStreamEnded:
      return "stream_ended";
    case LogEvent::kFrameShown:
      return "frame_shown";
    case LogEvent::kAcceptFailed:
      return "accept_failed";
    case LogEvent::kTaskFailed:
      return "task_failed";
    case LogEvent::kLinesLeftOut:
      return "lines_left_out";
  }
  return "unknown";
}

}  // namespace vfiogate
