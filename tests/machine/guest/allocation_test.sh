# The whole way from a card to an opened group with the release programs and real vfio-pci; and each
# step must fail when what brings it about is left out (a wrong group number for the last).
. /test/library.sh
to_vfio "$(address_of alone)"

tour() { sim-node tour --machine --config /test/plugind.yaml --programs /bin; }

for step in powerless registered bound-late allocated opened withdrawn released groups; do
  VFIOGATE_TRY_BREAK=$step tour >/tmp/tour 2>/dev/null
  check "broken $step ends with" "$?" 1
  check "broken $step is named" "$(tail -n 1 /tmp/tour)" "try: step $step was not seen"
done
tour
check "the tour" "$?" 0
finish
