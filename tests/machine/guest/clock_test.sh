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
    privd) echo "/bin/privd-daemon --plugind $plugind_socket --kubelet-dir /tmp/kubelet --state-dir /tmp/state --audit-log /tmp/audit.jsonl --plugind-rights watch,kubelet,bind" ;;
    netd-metrics) echo "/bin/netd metrics --listen 127.0.0.1:0 --plugind $plugind_socket" ;;
    netd-dra) echo "/bin/netd dra --api-server http://127.0.0.1:9 --node n --plugind $plugind_socket" ;;
  esac
}
started_by() { if [ "$1" = privd ]; then echo "event=started role=daemon"; else echo event=started; fi; } # NAME
start() { # NAME WORD...: its process is in /tmp/NAME.pid
  name=$1
  shift
  : >"/tmp/$name"
  "$@" >"/tmp/$name" 2>&1 &
  echo $! >"/tmp/$name.pid"
  until grep -q "$(started_by "$name")" "/tmp/$name"; do
    kill -0 $! 2>/dev/null || { sed "s/^/MACHINE $name: /" "/tmp/$name" && return 1; }
    usleep 100000
  done
}
processes_of() { # NAME: privd's daemon started the others
  cat "/tmp/$1.pid"
  [ "$1" != privd ] || pidof privd-hardware privd-gate privd-binder
}
stop_and_continue() { # NAME
  for process in $(processes_of "$1"); do
    kill -STOP "$process"
    until grep -q '^State:.T' "/proc/$process/status"; do usleep 10000; done
    kill -CONT "$process"
  done
}
ends() { # NAME: it was sent SIGTERM, and how did it end?
  process=$(cat "/tmp/$1.pid")
  kill "$process" 2>/dev/null
  wait "$process"
  ended=$?
  [ $ended = 0 ] || sed "s/^/MACHINE $1: /" "/tmp/$1" >&2
  echo $ended
}
# NAME CALL: in how many of the tables that it was held against the call's row is used
used_in() { awk -v call="$2" '$2 == call && $1 > 0 {used++} END {print used + 0}' "/tmp/$1"; }
tables_of() { if [ "$1" = privd ]; then echo 4; else echo 1; fi; } # NAME: those with a row for the clock

mkdir -p /run/plugind /tmp/kubelet/device-plugins
chown 64532 /run/plugind
check "the clock" "$(cat $clock_name)" hpet
check "processors" "$(grep -c ^processor /proc/cpuinfo)" 2

for name in $programs; do start "$name" $(command_of "$name"); done
for name in $programs; do stop_and_continue "$name"; done
for name in $programs; do
  ends "$name" >/tmp/ended
  check "$name, stopped and continued, ends with" "$(cat /tmp/ended)" 0
done

for name in $programs; do start "$name" /bin/trace_calls "$name" $(command_of "$name"); done
for name in $programs; do
  ends "$name" >/tmp/ended
  check "$name without its filter makes no call without a row" "$(cat /tmp/ended)" 0
  check "$name asks the kernel for the time" "$(used_in "$name" clock_gettime)" "$(tables_of "$name")"
  check "$name's rows that another makes needless" "$(grep -c NEEDLESS "/tmp/$name")" 0
done
finish
