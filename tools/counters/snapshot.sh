#!/bin/sh
# Prints the counters of all RDMA devices of this host as one text, for `roce analyze --counters BEFORE AFTER`.
# Needs a POSIX shell only; ethtool, rdma and mlnx_qos are used where they are there. Changes nothing. SYSFS is for tests.
sysfs=${SYSFS:-/sys}

printf '# roce-counters 1\n'
printf '# host %s\n' "$(uname -n)"
printf '# date %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"

# A value that cannot be read (some are refused by drivers) is left out.
show() {
  for file in "$@"; do
    [ -f "$file" ] || continue
    value=$(cat "$file" 2>/dev/null) || continue
    printf '%s:%s\n' "$file" "$value"
  done
}

printf '# section sysfs\n'
netdevs=
for device in "$sysfs"/class/infiniband/*; do
  [ -d "$device" ] || continue
  show "$device"/hw_counters/*
  for port in "$device"/ports/*; do
    [ -d "$port" ] || continue
    show "$port"/counters/* "$port"/hw_counters/* "$port"/cm_*/*
    netdev=$(cat "$port"/gid_attrs/ndevs/0 2>/dev/null)
    [ -n "$netdev" ] || continue
    printf '# netdev %s %s %s\n' "${device##*/}" "${port##*/}" "$netdev"
    case " $netdevs " in *" $netdev "*) ;; *) netdevs="$netdevs $netdev" ;; esac
  done
done
show "$sysfs"/class/infiniband_cm/*/*/cm_*/*

if command -v rdma >/dev/null 2>&1; then
  printf '# section rdma statistic\n'
  rdma statistic show link 2>/dev/null
fi
for netdev in $netdevs; do
  if command -v ethtool >/dev/null 2>&1; then
    printf '# section ethtool -S %s\n' "$netdev"
    ethtool -S "$netdev" 2>/dev/null
  fi
  if command -v mlnx_qos >/dev/null 2>&1; then
    printf '# section mlnx_qos -i %s\n' "$netdev"
    mlnx_qos -i "$netdev" 2>/dev/null
  fi
done
exit 0
