# Test programs as they are, on this machine's kernel and architecture: those in /bin that end in _test. And privd's paths under its
# filters.
. /test/library.sh
mkdir -p /etc /dev/pts
echo nobody >/etc/passwd
echo nobody >/etc/shadow
echo machine >/etc/hostname
mount -t devpts devpts /dev/pts
mount -o remount,nr_inodes=200000 /tmp # a test of a long list makes 65,536 files

privd policy --self-test >/tmp/said 2>&1
check "privd's self-test ends with" "$?" 0
check "its last words" "$(tail -n 1 /tmp/said)" "passed: privd can live under its filters here"
run() { # PROGRAM [CASE]
  VFIOGATE_SOURCE=/test/source VFIOGATE_BIN=/bin $1 ${2:+"--gtest_filter=$2"} >/tmp/said 2>&1
  check "$(basename "$1")${2:+ $2} ends with" "$?" 0
  sed -n '/^\[  \(PASSED\|FAILED\|SKIPPED\)/s/^/MACHINE said: /p' /tmp/said
}
for program in /bin/*_test; do
  case $program in
    # A self-test has to be the first in its process.
    */plugind_self_test_test)
      $program --gtest_list_tests | awk '/^[^ ]/ { suite = $1; next } { print suite $1 }' >/tmp/cases
      while read -r one; do run "$program" "$one" </dev/null; done </tmp/cases
      ;;
    *) run "$program" ;;
  esac
done
finish
