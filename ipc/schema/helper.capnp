@0xcc79d86ca5b48694;
# The privilege line: everything that a process without rights can ask of privd.
#
# Trust: privd (root) serves, its peers are strangers that own their whole process. No path, name of
# a file or text for a shell goes up; authority over a group is a capability that goes down. Nothing
# here carries a descriptor: they travel beside, over the descriptor channel (ipc/codec).
# privd hangs up on whoever sends what this file does not allow.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

const protocol :UInt16 = 5;
# Raised with every change of this file that an older peer would misread.

interface Door {
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
  mayBind @4 :Bool;  # with the session: it may have groups bound for a lending
}

interface Session {
  # One connection's rights. A right that the connection lacks is answered with `denied`.

  watch @0 (observer :Observer) -> (answer :WatchAnswer);
  # Starts telling `observer` what the hardware looks like: at once the whole, then what changes.
  # One subscription a connection; a second one replaces the first.

  kubelet @1 () -> (answer :KubeletAnswer);
  # The gate to the kubelet's sockets. Only over a connection that has a descriptor channel.

  adopted @2 () -> ();
  # The peer knows again who has what: what earlier sessions held, and this one does not, is
  # dropped. Repeatable. Without effect over a connection that has no descriptor channel.

  configuration @3 (ticket :UInt32, known :FileIdentity) -> (answer :ConfigurationAnswer);
  # plugind's configuration, open for reading, as soon as it is another file than the `known` one
  # (null: none). Only over a connection that has a descriptor channel. One call at a time: a second
  # one ends the first.

  discovery @4 () -> (counts :DiscoveryCounts);
  # How privd learns of the hardware's changes.

  declareSpecs @5 (specs :List(StaticSpec)) -> (answer :SpecsAnswer);
  # The complete set of static CDI specs that the peer wants: those of earlier calls that are not
  # among them are unlinked. Repeatable; what is in place is not written again. Only over a
  # connection that has a descriptor channel. Specs outlive the connection.

  bindings @6 () -> (answer :BindingsAnswer);
  # The operators' desk. Only for root at privd's own socket: plugind never comes there.

  writeClaimSpec @7 (spec :ClaimSpec) -> (answer :ClaimSpecAnswer);
  # The CDI spec of one prepared claim, durable when this answers. Repeatable; a spec that says the
  # same is not written again. Specs outlive the connection.

  unlinkClaimSpec @8 (uid :Text) -> (answer :UnlinkAnswer);
  # And the metadata files that came with it. Durable when this answers. Repeatable.

  claimSpecs @9 () -> (answer :ClaimSpecsAnswer);
  # The texts of all claims' specs on disk, as they were written.
}

struct ClaimSpec {
  # privd mints the file's name, finds the nodes in its own view, and writes nothing that it did not
  # check: uid a UUID; namespace, claim and requests names that Kubernetes takes.

  driver @0 :Text;        # the one privd was started for
  uid @1 :Text;
  claimNamespace @2 :Text;
  name @3 :Text;
  devices @4 :List(ClaimDevice);  # ascending by address
  metadata @5 :Bool;      # with a file per request in which KubeVirt looks for addresses
  podClaimName @6 :Text;  # of a claim made from a template; empty: it was not
  pool @7 :Text;          # that the devices are of; empty: not told
}

struct ClaimDevice {
  address @0 :Address;
  resource @1 :Text;          # under which it is held
  handles @2 :Handles;
  hands @3 :List(Address);    # whose nodes it hands over, itself included; all in one group
  request @4 :Text;           # the request's name, without a sub-request
}

struct ClaimSpecAnswer {
  union {
    inPlace @0 :List(Text);  # the CDI names of the devices, in their order
    bad @1 :Text;            # which part of it privd does not write, for people
    unreachable @2 :Address; # this device has no node now
    failed @3 :UInt16;       # errno
    denied @4 :Void;
  }
}

struct UnlinkAnswer {
  union {
    gone @0 :Void;
    bad @1 :Text;
    failed @2 :UInt16;  # errno
    denied @3 :Void;
  }
}

struct ClaimSpecsAnswer {
  union {
    texts @0 :List(Text);
    failed @1 :UInt16;  # errno
    denied @2 :Void;
  }
}

struct StaticSpec {
  # One file, of kind `resource`. privd mints its name, and finds the nodes in its own view.

  resource @0 :Text;            # named once in a declaration
  handles @1 :Handles;
  wholeGroups @2 :Bool;         # a device hands over all of `devices` that are in its group
  devices @3 :List(Address);    # ascending; each is a device of the spec, named by its address
}

enum Handles {
  auto @0;     # the group's node while there is one, otherwise the device's
  legacy @1;
  iommufd @2;
  both @3;
}

struct SpecsAnswer {
  union {
    outcomes @0 :List(SpecOutcome);  # of each spec, in the declaration's order
    denied @1 :Void;
  }
}

struct SpecOutcome {
  union {
    inPlace @0 :List(List(Text));  # of each device its nodes; none: it is left out, nothing reaches it
    badName @1 :Void;              # not an extended resource name
    notKind @2 :Void;              # CDI wants both its parts to begin with a letter, the latter without dot
    foreignPrefix @3 :Void;        # outside --resource-prefix
    failed @4 :UInt16;             # errno
  }
}

struct DiscoveryCounts {
  # Since privd's start, of its looks at the hardware.

  looks @0 :UInt64;         # at places that kernel events named
  sweeps @1 :UInt64;        # over everything
  failedSweeps @2 :UInt64;  # sysfs could not be listed
  sweepTime @3 :UInt64;     # ns, spent on all sweeps
  hints @4 :UInt64;         # kernel events that led to a look
  foreign @5 :UInt64;       # events that did not come from the kernel: ignored
  losses @6 :UInt64;        # times that the kernel said that events were lost
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
  changed @1 :List(Device);
  removed @2 :List(Address);
  changedGroups @3 :List(Group);
  removedGroups @4 :List(UInt32);
  controlNode @5 :Bool;
  iommufdNode @6 :Bool;
  vfioPci @7 :Bool;
  sysfsWriting @8 :SysfsWriting;
}

struct Snapshot {
  devices @0 :List(Device);
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

struct Address {
  segment @0 :UInt32;
  bus @1 :UInt8;
  device @2 :UInt8;    # 0..31
  function @3 :UInt8;  # 0..7
}

struct Device {
  # One PCI function, in the words of ipc/types/snapshot.h. A negative number: absent.

  address @0 :Address;
  vendor @1 :Int32 = -1;
  device @2 :Int32 = -1;
  subvendor @3 :Int32 = -1;
  subdevice @4 :Int32 = -1;
  classCode @5 :Int32 = -1;
  revision @6 :Int16 = -1;
  headerType @7 :Int16 = -1;
  answers @8 :Bool = true;
  driver @9 :Text;
  vfioDev @10 :Int64 = -1;
  cdevNode @11 :Bool;
  modalias @12 :Text;
  numaNode @13 :Int32 = -1;
  group @14 :Int64 = -1;
  bootVga @15 :Bool;
  sriov @16 :SriovRole;
  physicalFunction @17 :Address;  # of a virtual function; null: none or not known
  virtualFunctions @18 :UInt32;
  resetMethods @19 :Text;
  enableCount @20 :Int64 = -1;
  pcieRoot @21 :Text;
  mediated @22 :List(Mediated);
  problems @23 :List(Problem);
  vfioGroup @24 :Bool;
}

enum SriovRole {
  none @0;
  physicalFunction @1;
  virtualFunction @2;
}

struct Mediated {
  uuid @0 :Text;
  type @1 :Text;
}

struct Problem {
  attribute @0 :Text;
  why @1 :Text;
}

struct Group {
  id @0 :UInt32;
  type @1 :Text;
  noIommu @2 :Bool;
  groupNode @3 :Bool;
  use @4 :Use;
  members @5 :List(Address);
  control @6 :GroupControl;  # null for a connection that may only watch
  bindable @7 :Bool;         # policy and guards would let plugind bind it now
  busy @8 :Bool;             # a change of its drivers runs
  operatorHeld @9 :Bool;     # taken out of offer by an operator
  boundForLending @10 :Bool; # privd bound it for a lending
  stuck @11 :Bool;           # a write for it has not come back
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

  look @0 () -> (answer :LookAnswer);
  # Reads the group from sysfs now. Changes nothing, asks no device.

  hold @1 () -> ();
  # The group is lent, or about to be: nobody binds or unbinds it by hand. Told again it is the same
  # hold, now of this session. Outlives the session, until drop() or another session's adopted().

  drop @2 () -> ();
  # The group is nobody's any more. Repeatable. Works on where its members were, also after they
  # left.

  bind @3 () -> (answer :BindAnswer);
  # Every endpoint of the group ends on a VFIO driver or on none, or all are put back. For a lending:
  # privd's policy and guards decide. Repeatable; what is bound already is done.

  giveBack @4 () -> (answer :BindAnswer);
  # What privd bound for a lending goes back to its host driver, nothing else does. Repeatable.
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

struct LookAnswer {
  union {
    vanished @0 :Void;  # no such group any more, or it lost the members that it was made for
    seen @1 :Snapshot;  # this group and its members only
  }
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
  # `foreignPrefix`: not the driver that privd was started for.

  withdrawDra @5 () -> (failure :UInt16);
  # Unlinks the driver's registration socket, and the kubelet forgets the driver. Repeatable. privd
  # does it too where the connection ends. errno; 0: done.
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
    desk @0 :BindDesk;
    denied @1 :Void;  # the right is missing, or this privd changes no bindings
  }
}

interface BindDesk {
  # What an operator does by hand. Root asks, by address: guards decide, selectors do not. The words
  # are those of ipc/types/binding_change.h.

  change @0 (order :ChangeOrder) -> (report :ChangeReport);
  # Takes as long as the drivers do, and goes on where the caller leaves meanwhile.

  keep @1 (act :KeepAct) -> (failure :Text);
  # Changes what privd keeps of one device over reboots, no binding. Repeatable. Without failure: it
  # is durable.

  kept @2 () -> (holds :List(KeptHold), declared :List(KeptIdentity));
  # What bears an operator's mark now, by address.
}

struct ChangeOrder {
  kind @0 :ChangeKind;
  addresses @1 :List(Address);  # at least one
  driver @2 :Text;              # of a bind; empty: privd chooses
  overrides @3 :List(GuardOverride);
  dryRun @4 :Bool;
  keep @5 :Bool;                # of a bind
}

enum ChangeKind {
  bind @0;
  unbind @1;
}

enum Guard {
  bridge @0;
  bootVga @1;
  console @2;
  rootDisk @3;
  block @4;
  storage @5;
  network @6;
  users @7;
  sriov @8;
  noIommu @9;
  member @10;
  inUse @11;
  held @12;
  operator @13;
  policy @14;
  unguarded @15;
}

struct GuardOverride {
  guard @0 :Guard;
  address @1 :Address;  # null: for all devices
}

struct ChangeReport {
  outcome @0 :ChangeOutcome;
  error @1 :Text;                 # empty: nothing went wrong
  writes @2 :List(SysfsWrite);
  leftAlone @3 :List(LeftAlone);
  objections @4 :List(Objection);
  differences @5 :List(Text);
  remarks @6 :List(Text);
  auditSequence @7 :UInt64;       # 0: no record
}

enum ChangeOutcome {
  done @0;
  alreadySo @1;
  refused @2;
  failed @3;
  leftChanged @4;
  stuck @5;
}

struct SysfsWrite {
  address @0 :Address;
  attribute @1 :Text;
  text @2 :Text;
}

struct LeftAlone {
  address @0 :Address;
  why @1 :Text;
}

struct Objection {
  guard @0 :Guard;
  address @1 :Address;
  unknown @2 :Bool;     # no evidence; false: blocked
  reason @3 :Text;
  lift @4 :Text;
  overridden @5 :Bool;
}

struct KeepAct {
  address @0 :Address;
  union {
    hold @1 :Text;      # out of offer, for this reason: a line of 1 to 200 bytes
    release @2 :Void;
    forget @3 :Void;    # what `bind --keep` declared
  }
}

struct KeptHold {
  address @0 :Address;
  reason @1 :Text;
  since @2 :Int64;  # s since 1970
}

struct KeptIdentity {
  address @0 :Address;
  vendor @1 :UInt16;
  device @2 :UInt16;
}
