@0xe7f10b3d5a2c9846;
# What plugind's own user can ask the running plugind, over the socket that privd dials.
#
# Nothing here changes anything. The answers are whole documents: docs/status-json.md and
# docs/metrics.md say what is in them.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("vfiogate::schema");

interface Desk {
  status @0 () -> (json :Text);
  explain @1 (address :Text) -> (json :Text);
  # `address` in the kernel's form; another one is an error.
  metrics @2 () -> (text :Text);
  # In the text format of Prometheus.
}
