# The tour of sim-node on this machine's own hardware. A card is on vfio-pci before it starts.
. /test/library.sh
to_vfio "$(address_of alone)"
sim-node tour --machine --config /test/plugind.yaml --programs /bin
