# All daemons under their filters on this kernel: they try themselves and start, plugind and netd metrics are asked, and they end as they
# are told. netd dra finds plugind and dials nobody: without a kubelet nothing is published.
. /test/library.sh

plugind_socket=/run/vfiogate/plugind/plugind.sock
command_of() {
  case $1 in
    plugind) echo "/bin/plugind --listen $plugind_socket --config /test/plugind.yaml" ;;
    privd) echo "/bin/privd-daemon --plugind $plugind_socket --kubelet-dir /tmp/kubelet --state-dir /tmp/state --audit-log /tmp/audit.jsonl --plugind-rights watch,kubelet,bind" ;;
    privd-iommufd) echo "/bin/privd-iommufd --socket /run/vfiogate/iommufd/iommufd.sock" ;;
    netd-metrics) echo "/bin/netd metrics --listen 127.0.0.1:9408 --plugind $plugind_socket" ;;
    netd-dra) echo "/bin/netd dra --api-server http://127.0.0.1:8080 --node n --plugind $plugind_socket" ;;
  esac
}
says() { until grep -q "$2" "/tmp/$1"; do kill -0 "$(cat "/tmp/$1.pid")" 2>/dev/null && usleep 100000 || return 1; done; } # NAME TEXT

for name in privd plugind netd; do
  $name policy --self-test >"/tmp/$name" 2>&1
  check "the self-test of $name ends with" "$?" 0
  tail -n 1 "/tmp/$name" | sed 's/^/MACHINE said: /'
done

mkdir -p /run/vfiogate/plugind /run/vfiogate/iommufd /tmp/kubelet/device-plugins
chown 64532 /run/vfiogate/plugind
for name in plugind privd privd-iommufd netd-metrics netd-dra; do
  # shellcheck disable=SC2046,SC2086 # words on purpose
  set -- $(command_of $name)
  : >"/tmp/$name"
  "$@" >"/tmp/$name" 2>&1 &
  echo $! >"/tmp/$name.pid"
  says "$name" event=started
  check "$name starts" "$?" 0
done
says netd-dra event=attached
check "netd-dra finds plugind" "$?" 0
check "netd-metrics answers" "$(wget -q -O - http://127.0.0.1:9408/metrics | grep -c '^vfiogate_build_info')" 1
plugind status --timeout 20000 >/tmp/status 2>&1
check "plugind status ends with" "$?" 0
sed 's/^/MACHINE status: /' /tmp/status
for name in netd-dra netd-metrics privd-iommufd privd plugind; do
  kill "$(cat "/tmp/$name.pid")"
  wait "$(cat "/tmp/$name.pid")"
  ended=$?
  check "$name ends with" "$ended" 0
  [ "$ended" = 0 ] || tail -n 5 "/tmp/$name" | sed "s/^/MACHINE $name: /"
done
finish
