#pragma once
// What plugind asks for about CDI specs.

#include "ipc/gate/gate_requests.h"
#include "privd/cdi/cdi_store.h"
#include "privd/cdi/claim_store.h"
#include "privd/gate/gate_answer.h"

namespace vfiogate {

/// Answers for both kinds: static specs, of which a declaration is several requests, and those of
/// claims.
class SpecService {
public:
  /// Borrows both.
  SpecService(CdiStore& specs, ClaimStore& claims) : specs_(specs), claims_(claims) {}

  /// kBad, with words: which part of the spec is not written.
  GateAnswer put(const gate::Put& request);
  /// kFailed: what it took away may come back after a crash.
  GateAnswer remove(const gate::Remove& request);
  /// The claim's spec. kNotYet: there is none.
  GateAnswer open(const std::string& uid) const;
  /// UIDs of claims above `after`.
  GateAnswer list(const std::string& after) const;

  /// The connection ended, and with it a declaration that was not brought to its end.
  void forget() { specs_.forget(); }

private:
  GateAnswer put(const StaticSpecText& text);
  GateAnswer put(const ClaimSpecText& text);

  CdiStore& specs_;
  ClaimStore& claims_;
};

}  // namespace vfiogate
