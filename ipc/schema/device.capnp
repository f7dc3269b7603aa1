@0xcc36bc5932af4434;
# The words for one PCI device, which every other file uses.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

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
  mediated @22 :List(Text);  # UUIDs
  problems @23 :List(Problem);
  vfioGroup @24 :Bool;
  vgpuType @25 :Int64 = -1;
  vgpuTypeName @26 :Text;
  slot @27 :Text;
  rootPort @28 :Address;  # null: on the root bus, or not known
}

enum SriovRole {
  none @0;
  physicalFunction @1;
  virtualFunction @2;
}

struct Mediated {
  # One mediated device, in the same words. A negative number: absent.

  uuid @0 :Text;
  type @1 :Text;
  typeName @2 :Text;
  parent @3 :Address;  # null: no PCI function
  numaNode @4 :Int32 = -1;
  driver @5 :Text;
  group @6 :Int64 = -1;
  vfioDev @7 :Int64 = -1;
  cdevNode @8 :Bool;
  problems @9 :List(Problem);
}

struct Problem {
  attribute @0 :Text;
  why @1 :Text;
}
