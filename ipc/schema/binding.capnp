@0xd2f98562361f1912;
# What an operator has changed by hand, and what came of it, in the words of
# ipc/types/binding_change.h.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

using Device = import "device.capnp";

struct ChangeOrder {
  kind @0 :ChangeKind;
  addresses @1 :List(Device.Address);  # at least one
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
  platform @16;
}

struct GuardOverride {
  guard @0 :Guard;
  address @1 :Device.Address;  # null: for all devices
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
  address @0 :Device.Address;
  attribute @1 :Text;
  text @2 :Text;
}

struct LeftAlone {
  address @0 :Device.Address;
  why @1 :Text;
}

struct Objection {
  guard @0 :Guard;
  address @1 :Device.Address;
  unknown @2 :Bool;     # no evidence; false: blocked
  reason @3 :Text;
  lift @4 :Text;
  overridden @5 :Bool;
}

struct KeepAct {
  address @0 :Device.Address;
  union {
    exclude @1 :Text;   # from allocation, for this reason: a line of 1 to 200 bytes
    release @2 :Void;
    forget @3 :Void;    # what `bind --keep` declared
  }
}

struct KeptExclusion {
  address @0 :Device.Address;
  reason @1 :Text;
  since @2 :Int64;  # s since 1970
}

struct KeptIdentity {
  address @0 :Device.Address;
  vendor @1 :UInt16;
  device @2 :UInt16;
}
