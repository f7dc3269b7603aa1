# Two processors and a clock that cannot be read from user space: each program asks the kernel for the
# time, under its filter, and goes on when it is stopped and continued while it waits. Then each
# with its filter taken out and every call compared with the table: the row of the clock is used.
. /test/library.sh

programs="plugind privd netd-metrics netd-dra"
plugind_socket=/run/plugind/plugind.sock
clock_name=/sys/devices/system/clocksource/clocksource0/current_clocksource

command_of() {
  case $1 in
    plugind) echo "/bin/plugind --listen $plugind_socket --config /test/plugind.yaml" ;;
    privd) echo "/bin/privd-daemon --plugind $plugind_socket --kubelet-dir /tmp/kubelet --state-dir /tmp/state --audit-log /tmp/audit.jsonl" ;;
    netd-metrics) echo "/bin/netd metrics --listen 127.0.0.1:0 --plugind $plugind_socket" ;;
    netd-dra) echo "/bin/netd dra --api-server http://127.0.0.1:9 --node n --plugind $plugind_socket" ;;
  esac
}
start() { # NAME WORD...: its process is in /tmp/NAME.pid
  name=$1
  shift
  : >"/tmp/$name"
  "$@" >"/tmp/$name" 2>&1 &
  echo $! >"/tmp/$name.pid"
  until grep -q event=started "/tmp/$name"; do
    kill -0 $! 2>/dev/null || { sed "s/^/MACHINE $name: /" "/tmp/$name" && return 1; }
    usleep 100000
  done
}
stop_and_continue() { # PROCESS
  kill -STOP "$1"
  until grep -q '^State:.T' "/proc/$1/status"; do usleep 10000; done
  kill -CONT "$1"
}
ends() { # NAME: it was sent SIGTERM, and how did it end?
  process=$(cat "/tmp/$1.pid")
  kill "$process" 2>/dev/null
  wait "$process"
  ended=$?
  [ $ended = 0 ] || sed "s/^/MACHINE $1: /" "/tmp/$1" >&2
  echo $ended
}
uses_of() { sed -n "s/^ *\([0-9]*\)  $2.*/\1/p" "/tmp/$1" | head -n 1; } # NAME CALL
some() { if [ "${1:-0}" -gt 0 ]; then echo some; else echo none; fi; }

mkdir -p /run/plugind /tmp/kubelet/device-plugins
chown 64532 /run/plugind
check "the clock" "$(cat $clock_name)" hpet
check "processors" "$(grep -c ^processor /proc/cpuinfo)" 2

for name in $programs; do start "$name" $(command_of "$name"); done
for name in $programs; do stop_and_continue "$(cat "/tmp/$name.pid")"; done
for name in $programs; do
  ends "$name" >/tmp/ended
  check "$name, stopped and continued, ends with" "$(cat /tmp/ended)" 0
done

for name in $programs; do start "$name" /bin/trace_calls "$name" $(command_of "$name"); done
for name in $programs; do
  ends "$name" >/tmp/ended
  check "$name without its filter makes no call without a row" "$(cat /tmp/ended)" 0
  check "$name asks the kernel for the time" "$(some "$(uses_of "$name" clock_gettime)")" some
  check "$name's rows that another makes needless" "$(grep -c NEEDLESS "/tmp/$name")" 0
done
finish
