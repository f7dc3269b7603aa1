# Hardware that comes and goes on a real kernel while streams are open: each change is seen at the
# kubelet, is not seen where what brings it about is left out, and costs no stream and no process.
. /test/library.sh
for name in left right display audio; do to_vfio "$(address_of $name)"; done

sim-node tour --discovery --config /test/discovery.yaml --programs /bin
check "the tour" "$?" 0
finish
