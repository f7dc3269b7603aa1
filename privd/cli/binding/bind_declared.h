#pragma once
// `privd bind --declared`: what is declared is bound once, without a daemon, as early at boot as
// somebody runs it.

#include "ipc/types/selector.h"
#include "privd/bind/plan/wanted_vfs.h"
#include "privd/cli/binding/run_change.h"

#include <vector>

namespace vfiogate {

/// What the options say of devices that nobody names in the command.
struct DeclaredDevices {
  std::vector<Selector> selectors;  ///< --declare
  std::vector<WantedVfs> vfs;       ///< --vfs
};

/// Binds the devices that are there and that `declared` or `bind --keep` names, each by the
/// daemon's plan and guards; `order` says how. What is to have virtual functions is not bound.
/// Where a daemon has the node's lock it does so by itself, and nothing is done here: what a person
/// unbound stays unbound. Nor where nothing is declared: not even the lock is taken. A document is
/// one list, of what became of each device. Returns the exit code, the worst of all devices.
int bindDeclared(const ChangeOrder& order, const DeclaredDevices& declared,
                 const ControlOptions& options, const BindingServiceMaker& makeLocal,
                 kj::AsyncIoContext& io, const ChangeDisplay& display);

}  // namespace vfiogate
