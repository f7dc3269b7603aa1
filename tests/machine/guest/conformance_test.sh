# The kernel's answers to conformance.script are the ones that the simulation is held to.
. /test/library.sh

modprobe pci-stub
modprobe nvme
# nvme takes its device in the background.
nvme=$(address_of storage)
tries=0
until [ "$(enable_of $nvme)" = 1 ] || [ $tries = 50 ]; do
  usleep 100000
  tries=$((tries + 1))
done
check "nvme has its device" "$(driver_of $nvme)" nvme

sysfs_script </test/conformance.script >/tmp/answers
while read -r line; do say "answer $line"; done </tmp/answers
diff /test/conformance.expected /tmp/answers
cmp -s /test/conformance.expected /tmp/answers
check "the kernel's answers are the expected ones" "$?" 0
finish
