@0xc78d9b055d3de1b8;
# CDI specs that privd writes for plugind: what it is told, and what it answers.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

using Device = import "device.capnp";

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
  address @0 :Device.Address;
  resource @1 :Text;          # under which it is held
  handles @2 :Handles;
  hands @3 :List(Device.Address);    # whose nodes it hands over, itself included; all in one group
  request @4 :Text;           # the request's name, without a sub-request
}

struct ClaimSpecAnswer {
  union {
    inPlace @0 :List(Text);  # the CDI names of the devices, in their order
    bad @1 :Text;            # which part of it privd does not write, for people
    unreachable @2 :Device.Address; # this device has no node now
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
  devices @3 :List(Device.Address);    # ascending; each is a device of the spec, named by its address
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
