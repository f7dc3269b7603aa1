# What tests of a whole node share: privd and plugind as they ship, the stand-in kubelet, and pods. With binding.sh, which it needs.
. /test/binding.sh

journal=/tmp/journal
mkdir -p /run/vfiogate/plugind /tmp/kubelet/pod-resources
chown 64532 /run/vfiogate/plugind

patience=150 # until_so: nothing here is about how soon
start_node() { # WORD... for privd; plugind's configuration is read
  cat >/tmp/plugind.yaml
  kubelet-sim run --dir /tmp/kubelet >/tmp/kubelet-sim 2>&1 &
  plugind --listen /run/vfiogate/plugind/plugind.sock --config /tmp/plugind.yaml >$journal 2>/tmp/plugind &
  start_daemon --plugind /run/vfiogate/plugind/plugind.sock "$@"
}
finish_node() {
  if [ $failures != 0 ]; then
    for log_file in /tmp/daemon $journal /tmp/plugind; do tail -n 60 $log_file | sed "s|^|MACHINE $log_file: |"; done
  fi
  finish
}

kubelet() { kubelet-sim ctl /tmp/kubelet "$@"; }
health() { kubelet get devices "$1" | awk -v id="$2" '$1 == id {print $2}'; } # RESOURCE DEVICE
has_health() { [ "$(health "$1" "$2")" = "$3" ]; }
sees() { until_so has_health "$@"; } # RESOURCE DEVICE HEALTH: yes, if it comes to that
admit() { # POD RESOURCE: what came of it is in /tmp/said and, of a device that was allocated, in $granted
  cat >"/tmp/$1.yaml" <<POD
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec: {containers: [{name: compute, resources: {limits: {$2: 1}}}]}
POD
  kubelet admit "/tmp/$1.yaml" >/tmp/said 2>&1
  ended=$?
  granted=$(sed -n 's/^  compute: //p' /tmp/said)
}
is_refused() { # REASON RESOURCE: to a pod that comes now
  admit "next-$(now)" "$2"
  [ $ended = 1 ] && [ "$(said "$1")" = yes ]
}
journal_has() { grep "\"event\":\"$1\"" $journal | grep -qF -- "$2"; } # EVENT TEXT
tells() { until_so journal_has "$@"; }
now() { date +%s; }
