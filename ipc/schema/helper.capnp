@0xcc79d86ca5b48694;
# What privd's hardware process tells plugind of the node's PCI devices.
#
# Trust: privd-hardware serves, without root; its peers are strangers that own their whole process.
# No path, name of a file or text for a shell goes up; a group is reread by a capability that goes
# down. Nothing here changes anything, and nothing carries a descriptor: what needs root travels in
# the packets of privd's gate (ipc/gate) and of its binder (ipc/binder).
# privd hangs up on whoever sends what this file does not allow.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

using Device = import "device.capnp";

const protocol :UInt16 = 14;
# Raised with every change of this file that an older peer would misread.

interface Handshake {
  # What a fresh connection reaches: the exchange of versions and nothing else.

  enter @0 (protocol :UInt16) -> (answer :EnterAnswer);
  # Repeatable; each success is the same session.
}

struct EnterAnswer {
  union {
    wrongProtocol @0 :UInt16;  # privd's own; the peer must say both and stop
    session @1 :Session;
  }
}

interface Session {
  # What one connection may ask for.

  watch @0 (observer :Observer) -> (subscription :Subscription);
  # Starts telling `observer` what the hardware looks like: at once the whole, then what changes.
  # One subscription a connection; a second one replaces the first.

  discovery @1 () -> (counts :List(UInt64));
  # How privd learns of the hardware's changes: ipc/types/discovery_counts.h has the order.
}

interface Subscription {
  # Lives as long as it is held; dropping it ends the updates.
}

interface Observer {
  # Implemented by the peer; privd calls it with one update in flight. A slow observer gets fewer,
  # larger updates, never a queue.

  changed @0 (update :Update) -> ();
}

struct Update {
  epoch @0 :UInt64;       # drawn anew at every start of privd
  generation @1 :UInt64;  # grows by one with every different snapshot of that epoch
  union {
    full @2 :Snapshot;
    delta @3 :Delta;
  }
}

struct Delta {
  base @0 :UInt64;  # the generation last taken by this observer, to which the rest applies
  changed @1 :List(Device.Device);
  removed @2 :List(Device.Address);
  changedGroups @3 :List(Group);
  removedGroups @4 :List(UInt32);
  controlNode @5 :Bool;
  iommufdNode @6 :Bool;
  vfioPci @7 :Bool;
  changedMediated @8 :List(Device.Mediated);
  removedMediated @9 :List(Text);  # UUIDs
  egm @10 :List(EgmRegion);        # all of them
}

struct Snapshot {
  devices @0 :List(Device.Device);
  groups @1 :List(Group);
  controlNode @2 :Bool;  # /dev/vfio/vfio is there
  iommufdNode @3 :Bool;  # /dev/iommu is there
  vfioPci @4 :Bool;      # the kernel has the driver vfio-pci
  mediated @5 :List(Device.Mediated);
  egm @6 :List(EgmRegion);
}

struct EgmRegion {
  number @0 :UInt32;               # N of /dev/egmN
  gpus @1 :List(Device.Address);   # ascending
}

struct Group {
  id @0 :UInt32;
  type @1 :Text;
  noIommu @2 :Bool;
  groupNode @3 :Bool;
  use @4 :Use;
  members @5 :List(Device.Address);
  control @6 :GroupControl;  # null for a connection that may only watch
  mediated @7 :List(Text);   # UUIDs, ascending
}

enum Use {
  idle @0;
  open @1;
  blind @2;
  unknown @3;
}

interface GroupControl {
  # One IOMMU group. A peer can hold it, but cannot name another group. One object a group and
  # connection; it dies with the group that it was made for.

  reread @0 () -> (answer :RereadAnswer);
  # Reads the group from sysfs now. Changes nothing, asks no device. What it finds that observers
  # were not told is told to them, too.
}

struct RereadAnswer {
  union {
    vanished @0 :Void;  # no such group any more, or it lost the members that it was made for
    seen @1 :Snapshot;  # this group and its members only
  }
}
