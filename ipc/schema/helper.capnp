@0xcc79d86ca5b48694;
# The privilege line: everything that a process without rights can ask of privd.
#
# Trust: privd (root) serves, its peers are strangers that own their whole process. No path, name of
# a file or text for a shell goes up; authority over a group is a capability that goes down. Nothing
# here carries a descriptor: they travel beside, over the descriptor channel (ipc/codec).
# privd hangs up on whoever sends what this file does not allow.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

using Device = import "device.capnp";
using Specs = import "specs.capnp";
using Binding = import "binding.capnp";

const protocol :UInt16 = 7;
# Raised with every change of this file that an older peer would misread.

interface Handshake {
  # What a fresh connection reaches: the exchange of versions and nothing else.

  enter @0 (protocol :UInt16, ticket :UInt32, lease :UInt64) -> (answer :EnterAnswer);
  # Repeatable; each success is the same session. Over a connection that has a descriptor channel
  # it needs the node's lease, which one plugind has at a time: a peer that had it says which it was
  # (0: none). A new one is a lock, which comes under the caller's ticket as any descriptor does.
}

struct EnterAnswer {
  union {
    wrongProtocol @0 :UInt16;  # privd's own; the peer must say both and stop
    session @1 :Session;
    leased @2 :Void;  # to another plugind, for as long as that lives: ask again later
  }
  lease @3 :UInt64;  # with the session: the one that was shown, or a new one
  mayBind @4 :Bool;  # with the session: it may have groups bound for an allocation

  allocated @5 :List(AllocatedGroup);
  # With the session, over a connection that has a descriptor channel: what GroupControl.allocate()
  # told in this boot, over whatever connection, and was not released.
  allocatedComplete @6 :Bool;
  # Nothing of that is lost. Not for a record that was begun in this boot, or has unreadable parts.
}

struct AllocatedGroup {
  members @0 :List(Device.Address);
  note @1 :Text;  # as it was told; empty: it cannot be read any more
}

interface Session {
  # One connection's rights. A right that the connection lacks is answered with `denied`.

  watch @0 (observer :Observer) -> (answer :WatchAnswer);
  # Starts telling `observer` what the hardware looks like: at once the whole, then what changes.
  # One subscription a connection; a second one replaces the first.

  kubelet @1 () -> (answer :KubeletAnswer);
  # The gate to the kubelet's sockets. Only over a connection that has a descriptor channel.

  adopted @2 () -> ();
  # The peer knows again who has what: what earlier sessions allocated, and this one did not, is
  # released. Repeatable. Without effect over a connection that has no descriptor channel.

  configuration @3 (ticket :UInt32, known :FileIdentity) -> (answer :ConfigurationAnswer);
  # plugind's configuration, open for reading, as soon as it is another file than the `known` one
  # (null: none). Only over a connection that has a descriptor channel. One call at a time: a second
  # one ends the first.

  discovery @4 () -> (counts :List(UInt64));
  # How privd learns of the hardware's changes: ipc/types/discovery_counts.h has the order.

  declareSpecs @5 (specs :List(Specs.StaticSpec)) -> (answer :Specs.SpecsAnswer);
  # The complete set of static CDI specs that the peer wants: those of earlier calls that are not
  # among them are unlinked. Repeatable; what is in place is not written again. Only over a
  # connection that has a descriptor channel. Specs outlive the connection.

  bindings @6 () -> (answer :BindingsAnswer);
  # The operators' control service. Only for root at privd's own socket: plugind never comes there.

  writeClaimSpec @7 (spec :Specs.ClaimSpec) -> (answer :Specs.ClaimSpecAnswer);
  # The CDI spec of one prepared claim, durable when this answers. Repeatable; a spec that says the
  # same is not written again. Specs outlive the connection.

  unlinkClaimSpec @8 (uid :Text) -> (answer :Specs.UnlinkAnswer);
  # And the metadata files that came with it. Durable when this answers. Repeatable.

  claimSpecs @9 () -> (answer :Specs.ClaimSpecsAnswer);
  # The texts of all claims' specs on disk, as they were written.
}

struct WatchAnswer {
  union {
    subscription @0 :Subscription;
    denied @1 :Void;
  }
}

struct ConfigurationAnswer {
  union {
    file @0 :ConfigurationFile;
    none @1 :Void;      # privd was started without --plugind-config, or the right is missing
    tooMany @2 :Void;   # 64 descriptors that nobody took
    failed @3 :UInt16;  # errno; EFBIG: above 1 MiB; EINVAL: not a regular file
  }
}

struct ConfigurationFile {
  size @0 :UInt32;
  identity @1 :FileIdentity;
}

struct KubeletAnswer {
  union {
    gate @0 :KubeletGate;
    denied @1 :Void;
  }
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
  sysfsWriting @8 :SysfsWriting;
}

struct Snapshot {
  devices @0 :List(Device.Device);
  groups @1 :List(Group);
  controlNode @2 :Bool;  # /dev/vfio/vfio is there
  iommufdNode @3 :Bool;  # /dev/iommu is there
  vfioPci @4 :Bool;      # the kernel has the driver vfio-pci
  sysfsWriting @5 :SysfsWriting;
}

enum SysfsWriting {
  # Whether privd could bind a device, as far as sysfs is concerned.

  unknown @0;
  possible @1;
  readOnly @2;
  denied @3;  # by a security module
}

struct Group {
  id @0 :UInt32;
  type @1 :Text;
  noIommu @2 :Bool;
  groupNode @3 :Bool;
  use @4 :Use;
  members @5 :List(Device.Address);
  control @6 :GroupControl;  # null for a connection that may only watch
  bindable @7 :Bool;         # policy and guards would let plugind bind it now
  busy @8 :Bool;             # a change of its drivers runs
  excluded @9 :Bool;         # by an operator
  boundForAllocation @10 :Bool; # privd bound it for an allocation
  stuck @11 :Bool;           # a write for it has not come back
  bar @12 :Text;             # the guard that keeps it from being bindable, and what it saw; or empty
}

enum Use {
  idle @0;
  open @1;
  blind @2;
  unknown @3;
}

interface GroupControl {
  # Authority over one IOMMU group. A peer can hold it, but cannot name another group. One object a
  # group and connection; it dies with the group that it was made for.

  reread @0 () -> (answer :RereadAnswer);
  # Reads the group from sysfs now. Changes nothing, asks no device.

  allocate @1 (note :Text) -> ();
  # The group is allocated, or about to be: nobody binds or unbinds it by hand. The note says to whom
  # (1 to 8,192 bytes, printable ASCII and newlines); privd keeps it on file for the plugind after
  # this one and does not read it. Again: the same allocation, now of this session. Outlives session
  # and privd, until release() or another session's adopted(), but no reboot. Whether it is on file
  # reread() says.

  release @2 () -> ();
  # The group is nobody's any more. Repeatable. Works on where its members were, also after they
  # left.

  bind @3 () -> (answer :BindAnswer);
  # Every endpoint of the group ends on a VFIO driver or on none, or all are put back. For an allocation:
  # privd's policy and guards decide. Repeatable; what is bound already is done.

  giveBack @4 () -> (answer :BindAnswer);
  # What privd bound for an allocation goes back to its host driver, nothing else does. Repeatable.
}

struct BindAnswer {
  union {
    done @0 :Void;
    refused @1 :Text;   # a guard or the policy; nothing was written. For people
    failed @2 :Text;    # the kernel; for people
    stuck @3 :Text;     # a write has not come back; for people
    vanished @4 :Void;  # no such group any more, or it lost the members that it was made for
    denied @5 :Void;    # without the right to bind
  }
  generation @6 :UInt64;  # of the snapshot that shows what it left
}

struct RereadAnswer {
  union {
    vanished @0 :Void;  # no such group any more, or it lost the members that it was made for
    seen @1 :Snapshot;  # this group and its members only
  }
  onFile @2 :Bool;  # what allocate() was last told of the group is on file
}

interface KubeletGate {
  # The kubelet's directories, which belong to root. privd makes and dials the sockets and reads no
  # byte that goes over them, nor of the checkpoint. A descriptor arrives on the descriptor channel, marked with the
  # caller's ticket, before the call's answer.

  listen @0 (ticket :UInt32, resource :Text) -> (answer :ListenAnswer);
  # A listening socket for the device plugin of `resource`, whose name privd derives from it. Again
  # for the same resource: a new socket, renamed over the old one.

  dial @1 (ticket :UInt32, socket :KubeletSocket) -> (answer :DialAnswer);
  # A connection to the kubelet.

  watch @2 (observer :KubeletObserver) -> ();
  # Tells at once what there is of the kubelet, then what it makes anew. A second one replaces the
  # first.

  checkpoint @3 (ticket :UInt32) -> (answer :CheckpointAnswer);
  # The kubelet's checkpoint as it is now, open for reading.

  listenDra @4 (ticket :UInt32, driver :Text, socket :DraSocket) -> (answer :ListenAnswer);
  # A listening socket of the DRA driver, in place of the one before. The endpoint is its whole path.
  # `foreignPrefix`: not the driver that privd was started for. Where the connection ends privd
  # unlinks the registration's, and the kubelet forgets the driver.
}

enum DraSocket {
  service @0;       # <kubelet-dir>/plugins/<driver>/dra.sock
  registration @1;  # <kubelet-dir>/plugins_registry/<driver>-reg.sock: once the service is served
}

enum KubeletSocket {
  registration @0;
  podResources @1;
}

struct ListenAnswer {
  union {
    endpoint @0 :Text;       # the socket's file name, for Register
    badName @1 :Void;        # not an extended resource name
    foreignPrefix @2 :Void;  # outside --resource-prefix
    tooMany @3 :Void;        # 64 sockets, or 64 descriptors that nobody took
    failed @4 :UInt16;       # errno
  }
}

struct DialAnswer {
  union {
    connected @0 :Void;
    absent @1 :UInt16;   # errno: the kubelet is not there yet, ask again later
    tooMany @2 :Void;    # 64 descriptors that nobody took
    failed @3 :UInt16;   # errno
  }
}

struct CheckpointAnswer {
  union {
    file @0 :CheckpointFile;
    absent @1 :Void;   # the kubelet has written none
    tooMany @2 :Void;  # 64 descriptors that nobody took
    failed @3 :UInt16; # errno; EFBIG: above 1 MiB; EINVAL, ELOOP: not a regular file
  }
}

struct CheckpointFile {
  size @0 :UInt32;
  written @1 :Int64;          # its modification time, ns since 1970
  kubelet @2 :FileIdentity;   # of the registration socket, looked at later; null: not there
}

struct FileIdentity {
  # Tells one file from the next under the same name.

  inode @0 :UInt64;
  changed @1 :Int64;  # its change time, ns since 1970
}

struct KubeletFiles {
  # What the kubelet made; null: not there.

  registration @0 :FileIdentity;  # its registration socket: which kubelet runs
  podResources @1 :FileIdentity;  # the PodResources socket
  checkpoint @2 :FileIdentity;
}

interface KubeletObserver {
  # Implemented by the peer; one call in flight, what happens meanwhile is told in the next.

  changed @0 (files :KubeletFiles) -> ();
}

struct BindingsAnswer {
  union {
    control @0 :BindControl;
    denied @1 :Void;  # the right is missing, or this privd changes no bindings
  }
}

interface BindControl {
  # What an operator does by hand. Root asks, by address: guards decide, selectors do not. The words
  # are those of ipc/types/binding_change.h.

  change @0 (order :Binding.ChangeOrder) -> (report :Binding.ChangeReport);
  # Takes as long as the drivers do, and goes on where the caller leaves meanwhile.

  keep @1 (act :Binding.KeepAct) -> (failure :Text);
  # Changes what privd keeps of one device over reboots, no binding. Repeatable. Without failure: it
  # is durable.

  kept @2 () -> (exclusions :List(Binding.KeptExclusion), declared :List(Binding.KeptIdentity));
  # What bears an operator's mark now, by address.
}
