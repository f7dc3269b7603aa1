# What the tests of bindings share: privd as it ships, its command as uid 0 without any capability, and
# somebody who has a group open.
. /test/library.sh

state=/tmp/state log=/tmp/audit.jsonl
export ASAN_OPTIONS=detect_leaks=0 # a build with sanitizers: its look for leaks is what the filter kills
mkdir -p /tmp/kubelet/device-plugins
mkfifo /tmp/is_open /tmp/let_go
exec 8<>/tmp/let_go # so that nobody waits for one who never came to read

# The command does it all by itself, beside a daemon or without one.
privd_does() { # bind|unbind WORD...: what it says is in /tmp/said, how it ended in $ended
  command=$1
  shift
  powerless privd "$command" --state-dir $state --audit-log $log "$@" >/tmp/said 2>&1
  ended=$?
}
said() { # TEXT: yes if that was among it
  if grep -qF -- "$1" /tmp/said; then echo yes; else sed 's/^/MACHINE said: /' /tmp/said; fi
}

# The command, again and again until it succeeds: yes; no after a minute, or $patience seconds.
until_so() {
  latest=$(($(date +%s) + ${patience:-60}))
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt $latest ] || { echo no && return; }
    usleep 100000
  done
  echo yes
}

start_daemon() { # WORD...
  : >/tmp/daemon
  # Not through a function, whose shell would be the one that is ended later. With its capabilities: it
  # needs one to start privd-hardware as another user, and takes them from all that it starts.
  privd serve --plugind /run/plugind.sock --kubelet-dir /tmp/kubelet \
    --state-dir $state --audit-log $log --require-landlock "$@" >/tmp/daemon 2>&1 &
  daemon=$!
  until grep -q "event=started role=daemon" /tmp/daemon; do
    if ! kill -0 $daemon 2>/dev/null; then
      sed 's/^/MACHINE daemon: /' /tmp/daemon
      check "privd starts" no yes
      return 1
    fi
    usleep 100000
  done
}
stop_daemon() { kill $daemon && wait $daemon; }

# The group's node is opened and the device in it, as a virtual machine does, until let_go.
hold_open() { # NODE ADDRESS IDS: $held says how that went
  {
    powerless vfio_open "$1" "$2" "$3" sh -c 'echo open >/tmp/is_open; read -r go </tmp/let_go' ||
      echo "not open" >/tmp/is_open
  } &
  holder=$!
  read -r held </tmp/is_open
}
let_go() {
  echo go >&8
  wait $holder
}
