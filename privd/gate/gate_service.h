#pragma once
// What plugind asks of the gate, and what it is answered: one request at a time.

#include "ipc/gate/gate_requests.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"
#include "privd/gate/gate_answer.h"
#include "privd/gate/kubelet_gate.h"
#include "privd/gate/plugind_lease.h"
#include "privd/state/allocation_records.h"

#include <bitset>
#include <cstdint>
#include <string>

namespace vfiogate {

/// What plugind may ask of the gate beside its lease: what --plugind-rights says.
struct Rights {
  bool kubelet = false;  ///< the kubelet's sockets and files, and the record of allocations
  bool cdi = false;      ///< CDI specs

  friend bool operator==(const Rights&, const Rights&) = default;
};

/// One connection of plugind's.
struct GateSession {
  AllocationRecords::Session record = 0;
  std::uint64_t lease = 0;  ///< that it was given; 0: none yet
  bool entered = false;     ///< and took what came with it
  bool waits = false;       ///< another plugind has the lease, which is told once
  bool awaitsSeen = false;  ///< it was told of files, and did not say yet that it knows
  std::bitset<gate::kRequests> loggedAsRefused{};  ///< kinds of requests
};

/// Does what a request asks for, as far as the connection's rights go. Never waits, and reads no
/// byte that plugind did not send or this service did not write, but names.
class GateService {
public:
  struct Deps {
    KubeletGate& kubelet;
    const ServedNames& names;
    PlugindLease& lease;
    AllocationRecords& records;
    CdiStore& specs;     ///< static ones, of which a declaration is several requests
    ClaimStore& claims;  ///< their specs
    Rights rights;
    std::string configuration;  ///< plugind's; empty: none
    std::string exclusions;     ///< directory of files that are named after devices
  };

  explicit GateService(Deps deps) : deps_(kj::mv(deps)) {}

  /// Of a connection that begins; it has asked for nothing yet.
  GateSession newSession() { return {.record = deps_.records.newSession()}; }

  /// `session` has entered, unless `request` is Enter.
  GateAnswer answer(GateSession& session, const gate::Request& request);

  /// As they are now; of none that plugind has no right to. Says on the log how many devices are
  /// excluded, whenever other ones are.
  gate::WatchedFiles files();

  /// The connection ended: nobody serves the DRA driver, and the declaration is none.
  void sessionEnded();
  /// Unlinks the DRA driver's registration socket where no plugind serves it: a dead one would cost
  /// the kubelet 10 s a try.
  void withdrawDra() const;
  void withdrawDraIfUnserved() const;

private:
  /// Tells the log, once of each kind of request, that it may not be had. What Listen
  /// may not have is told as socket_refused, by itself.
  static void logRefused(GateSession& session, const gate::Request& request,
                         const gate::Answer& answer);
  GateAnswer on(GateSession& session, const gate::Enter& request);
  GateAnswer on(GateSession& session, const gate::Adopted& request);
  GateAnswer on(GateSession& session, const gate::Seen& request);
  GateAnswer on(GateSession& session, const gate::Listen& request);
  GateAnswer on(GateSession& session, const gate::Dial& request);
  GateAnswer on(GateSession& session, const gate::Open& request);
  GateAnswer on(GateSession& session, const gate::Allocate& request);
  GateAnswer on(GateSession& session, const gate::Release& request);
  GateAnswer on(GateSession& session, const gate::Put& request);
  GateAnswer on(GateSession& session, const gate::Remove& request);
  GateAnswer on(GateSession& session, const gate::List& request);

  GateAnswer openCheckpoint() const;
  GateAnswer openClaim(const std::string& uid) const;
  GateAnswer claimsAfter(const std::string& last) const;
  GateAnswer exclusionsAfter(const std::string& last) const;
  std::uint64_t exclusionsNow();

  Deps deps_;
  std::uint64_t toldExclusions_ = 0;
};

}  // namespace vfiogate
