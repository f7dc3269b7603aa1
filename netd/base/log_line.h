#pragma once
// netd's log: one event a line on standard error, as plugind's. The events here are all there are.

#include "rootless/log_text.h"

#include <cstdint>
#include <string>

namespace vfiogate {

enum class NetdEvent : std::uint8_t {
  kStarted,       ///< locked down, and serves
  kStartFailed,   ///< ends with code 1
  kNotRoot,       ///< cannot become the user that it should be
  kLimitLower,    ///< the starter allows less than its own limit
  kOutOfMemory,   ///< ends with code 1
  kPlugindAway,   ///< did not answer; told once for each reason
  kPlugindBack,   ///< answers again
  kAttached,      ///< plugind asks from now on
  kDraOff,        ///< plugind is no DRA driver; asked again every 2 s
  kApiAway,       ///< does not answer, or with an error that may pass; told once for each reason
  kApiBack,       ///< answers again
  kApiRefuses,    ///< takes the token for nobody, or for somebody without the right
  kApiVersion,    ///< of resource.k8s.io, that the API server is spoken to in from now on
  kPoolStored,    ///< the API server says what the node's pool is
  kPoolTroubled,  ///< it cannot be made to, for now; told once for each reason
  kAcceptFailed,  ///< tried again in a second
  kTaskFailed,    ///< a client broke off in a way that kj-http has no answer to, or a bug
  kEnding,        ///< told to
  kLinesLeftOut,  ///< the log's own: what it did not say
};

/// Within the event's allowance (PacedLog). Before startNetdLog() nothing is written.
void netdLog(NetdEvent event, LogFields fields = {});

/// The line of now.
std::string netdLine(NetdEvent event, LogFields fields = {});

/// Sends the log to standard error. Call once, before the process is locked down.
void startNetdLog(LogForm form);

}  // namespace vfiogate
