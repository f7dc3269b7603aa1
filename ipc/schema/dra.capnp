@0xb1c5d0f2a4e86d37;
# What plugind asks of the Kubernetes API, through `netd dra`. privd takes no part in it.
#
# Trust: netd has a network, so what it answers is a stranger's word in form: bounded, typed, decoded
# once at the boundary. Its content is the API server's, which decides what a claim is allocated. netd
# reads JSON, plugind never does. Only values go over; netd decides nothing.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

interface ApiServer {
  # Implemented by netd. Each call is tried a bounded number of times, with jitter, before it fails.

  claim @0 (driver :Text, claimNamespace :Text, name :Text) -> (answer :ClaimAnswer);
  # The claim as it is now, with the devices that `driver` has in its allocation.

  publish @1 (pool :DevicePool) -> (kept :KeptFields);
  # The node's whole pool from now on. netd makes its slices so, and keeps them so whatever others do
  # to them, until it is told another pool or the connection ends. Answers when they are stored for
  # the first time; a later call ends the one before with the same answer.

  report @2 (report :ClaimReport) -> (failure :Text);
  # Writes status.devices of a claim. Without failure: it is stored.
}

struct ClaimAnswer {
  union {
    found @0 :AllocatedClaim;
    gone @1 :Void;      # no claim of that name
    failed @2 :Text;    # for people: nobody knows
  }
}

struct AllocatedClaim {
  uid @0 :Text;
  allocated @1 :Bool;
  podClaimName @2 :Text;              # of a claim made from a template; empty: it was not
  devices @3 :List(AllocatedDevice);  # of the driver that was asked for, in the claim's order
}

struct AllocatedDevice {
  request @0 :Text;        # "main" or "main/sub"
  pool @1 :Text;
  device @2 :Text;
  shareId @3 :Text;        # empty: none
  adminAccess @4 :Bool;
  parameters @5 :DeviceParameters;
  badParameters @6 :Text;  # why the opaque configuration for it cannot be used, with the field's name; empty: it can
}

struct DeviceParameters {
  # What a class or claim asks of one device beyond having it.

  vfio @0 :VfioChoice;
  bindNever @1 :Bool;  # only a device that is on VFIO already
}

enum VfioChoice {
  resource @0;  # as the node's configuration says
  auto @1;
  legacy @2;
  iommufd @3;
  both @4;
}

struct DevicePool {
  driver @0 :Text;
  name @1 :Text;  # of the pool; the node's
  devices @2 :List(PoolDevice);      # ascending by name
  counterSets @3 :List(CounterSet);  # ascending by name
}

struct PoolDevice {
  name @0 :Text;
  attributes @1 :List(Attribute);  # ascending by name
  counterSet @2 :Text;             # that it consumes a counter of; empty: none
  counter @3 :Text;
  taints @4 :List(Taint);
  alsoConsumes @5 :List(ConsumedCounter);  # of a set of devices: all but the first; ascending
}

struct ConsumedCounter {
  counterSet @0 :Text;
  counter @1 :Text;
}

struct Attribute {
  name @0 :Text;  # qualified, or of the driver's own domain
  value :union {
    text @1 :Text;
    integer @2 :Int64;
    flag @3 :Bool;
    version @4 :Text;
  }
}

struct CounterSet {
  # Each counter has the value 1.
  name @0 :Text;
  counters @1 :List(Text);
}

struct Taint {
  # Effect NoSchedule.
  key @0 :Text;
  value @1 :Text;
  since @2 :Int64;  # s since 1970
}

struct KeptFields {
  # What the server stored of what was sent. False: it dropped that field, without an error.
  counters @0 :Bool;
  taints @1 :Bool;
  api @2 :ResourceApi;
}

enum ResourceApi {
  # The version of resource.k8s.io by which it was sent.

  unknown @0;
  v1 @1;
  v1beta2 @2;
  v1beta1 @3;
}

struct ClaimReport {
  driver @0 :Text;
  claimNamespace @1 :Text;
  name @2 :Text;
  uid @3 :Text;
  devices @4 :List(ReportedDevice);
}

struct ReportedDevice {
  pool @0 :Text;
  device @1 :Text;
  shareId @2 :Text;
  ready @3 :Bool;    # the condition Ready
  reason @4 :Text;   # a word in CamelCase
  message @5 :Text;
  address @6 :Text;  # of the PCI device
}
