# privd's Landlock table and the confinement of the other processes, tried on this kernel's Landlock,
# which is older than that of most machines that build: the unit tests, as they are.
. /test/library.sh
mkdir -p /etc /dev/shm
echo nobody >/etc/passwd
echo nobody >/etc/shadow

passes() { # TEST WORD...
  "$@" >"/tmp/$1" 2>&1
  ended=$?
  grep -v -e '^time=' -e ' RUN ' "/tmp/$1" | sed 's/^/MACHINE said: /'
  check "$1 ends with" $ended 0
}
passes privd_landlock_test
passes seccomp_test --gtest_filter='Landlock.*'
check "skipped for want of Landlock" "$(cat /tmp/privd_landlock_test /tmp/seccomp_test | grep -c 'has no Landlock')" 0
finish
