@0xe7f10b3d5a2c9846;
# What the running plugind tells over the socket that privd dials. privd takes no part in it.
#
# Nothing here changes anything but attach. Who may ask what is decided by the visitor's user: plugind's own
# has all of it; netd's has metrics, ready and attach, the rest does not exist for it. The documents are
# whole: docs/status-json.md and docs/metrics.md say what is in them.

using Cxx = import "/capnp/c++.capnp";
using Dra = import "dra.capnp";
$Cxx.namespace("vfiogate::schema");

interface Control {
  status @0 () -> (json :Text);
  explain @1 (address :Text) -> (json :Text);
  # `address` in the kernel's form; another one is an error.
  metrics @2 () -> (text :Text);
  # In the text format of Prometheus.
  ready @3 () -> (ready :Bool, why :Text);
  # Whether a pod could be served now. `why` is for people and names no pod; never empty.
  attach @4 (api :Dra.ApiServer, node :Text) -> (answer :AttachAnswer);
  # netd's only: from now on plugind asks `api`, until the connection ends; the one before is dropped.
  # `node`: the Node that this is.
}

struct AttachAnswer {
  union {
    driver @0 :Text;  # of the DRA driver that plugind is
    off @1 :Void;     # no driver is configured: attach again later
  }
}
