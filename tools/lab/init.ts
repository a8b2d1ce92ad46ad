/**
 * The two shell scripts inside a guest: `init` (mounts, modules, network, rxe) and the agent it becomes, which runs
 * commands for the host. The other side of the agent is agent.ts; the scripts are text and never run on this machine.
 */

/** Bytes of one `read` answer before base64; the virtio port passes writes of up to 32 KiB in one piece. */
export const CHUNK_BYTES = 16_384;

/**
 * PID 1. Takes its network from the kernel's command line, "lab.mtu=1500 lab.addresses=10.0.0.2/24,fd00::2/64".
 * Failures are sent to the host as "failed REASON" (base64), so a boot ends at once and with a reason.
 */
export const INIT_SCRIPT = `#!/bin/busybox sh
# This shell prefers its own applets to programs of the same name: "ip" is meant with its full path here.
export PATH=/usr/bin:/usr/sbin:/busybox HOME=/root LC_ALL=C
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /busybox
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
ulimit -l unlimited
# Nothing is loaded behind our back: each attempt would start a process on a slow processor.
echo > /proc/sys/kernel/modprobe
modprobe -a $(cat /etc/lab/modules) 2> /run/lab/modprobe
modprobe_code=$?

wait_for() { # TRIES COMMAND...
  tries=$1; shift
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    usleep 20000
  done
}

# The first number is that of the virtio device, whichever the kernel found first.
control_port() { [ -e /dev/vport*p1 ]; }
wait_for 500 control_port || { echo "lab: no control port" > /dev/console; poweroff -f; }
exec 3<>$(echo /dev/vport*p1)

fail() {
  echo "failed $(echo "$1" | base64 -w 0)" >&3
  exec /etc/lab/agent 2> /run/lab/agent.err
}

[ $modprobe_code = 0 ] || fail "modprobe: $(tail -n 1 /run/lab/modprobe)"

mtu=1500 addresses=
for word in $(cat /proc/cmdline); do
  case $word in
    lab.mtu=*) mtu=\${word#*=} ;;
    lab.addresses=*) addresses=$(echo "\${word#*=}" | tr , ' ') ;;
  esac
done

hostname rxe
/usr/bin/ip link set lo up
[ -e /sys/class/net/eth0 ] || fail 'there is no eth0'
# Addresses are usable at once and the wire stays quiet.
for conf in all default eth0; do
  echo 0 > /proc/sys/net/ipv6/conf/$conf/accept_dad
  echo 0 > /proc/sys/net/ipv6/conf/$conf/router_solicitations
done
/usr/bin/ip link set eth0 mtu $mtu up 2> /run/lab/ip || fail "ip link set eth0 mtu $mtu: $(cat /run/lab/ip)"
count=0
for address in $addresses; do
  flags=
  case $address in *:*) flags=nodad ;; esac
  /usr/bin/ip address add $address dev eth0 $flags 2> /run/lab/ip || fail "ip address add $address: $(cat /run/lab/ip)"
  count=$((count + 1))
done

# The kernel reports the carrier, and adds the link-local address on it, a moment later. Below 1280 bytes there is no IPv6.
carrier() { [ $mtu -lt 1280 ] && grep -q 1 /sys/class/net/eth0/carrier || grep -q '^fe80.* eth0$' /proc/net/if_inet6; }
wait_for 500 carrier || fail 'eth0 has no carrier'

rdma link add rxe0 type rxe netdev eth0 2> /run/lab/rdma || fail "rdma link add: $(cat /run/lab/rdma)"
port=/sys/class/infiniband/rxe0/ports/1
active() { grep -q ACTIVE $port/state; }
wait_for 500 active || fail 'rxe0 does not become ACTIVE'
# GID 0 is the link-local one; each address adds one, by a worker of the kernel.
has_gids() { ! grep -q '^0000:0000:0000:0000:0000:0000:0000:0000$' $port/gids/$count; }
wait_for 500 has_gids || fail "rxe0 has fewer than $((count + 1)) GIDs"
echo "ready $(uname -r)" >&3
exec /etc/lab/agent 2> /run/lab/agent.err
`;

/**
 * Answers requests on descriptor 3, a line each; every answer is one line and one write, so answers never mix.
 *
 *   run ID SCRIPT64            -> exit ID CODE STDOUT_BYTES STDERR_BYTES, when it has ended
 *   read ID JOB out|err INDEX  -> data ID BYTES64: the INDEX-th chunk of that job's output so far, empty past its end
 *   kill ID JOB SIGNAL         -> done ID: the whole process group has been signalled
 *   drop ID JOB                -> done ID: the job's files are gone
 *
 * The end of the control channel means that the process that owns this guest is gone: the guest ends itself.
 */
export const AGENT_SCRIPT = `#!/bin/busybox sh
job() { # ID SCRIPT64
  f=/run/lab/$1
  echo "$2" | base64 -d > $f.sh
  cd /root
  setsid /usr/bin/dash $f.sh < /dev/null > $f.out 2> $f.err 3>&- &
  p=$!
  echo $p > $f.pid
  wait $p
  c=$?
  set -- $1 $c $(stat -c %s $f.out $f.err)
  echo "exit $1 $2 $3 $4" >&3
}

signal() { # ID JOB SIGNAL
  f=/run/lab/$2
  # The job may be just about to start, and its process, once there, to make the group of its own that is signalled.
  t=200
  until [ -s $f.pid ] && p=$(cat $f.pid) && { kill -$3 -$p || ! kill -0 $p; } || [ $t = 0 ]; do
    usleep 10000
    t=$((t - 1))
  done
  echo "done $1" >&3
}

idle=0
while true; do
  while read -r verb id a b c <&3; do
    idle=-1
    case $verb in
      run) job $id "$a" & ;;
      read) echo "data $id $(dd if=/run/lab/$a.$b bs=${CHUNK_BYTES} skip=$c count=1 2> /dev/null | base64 -w 0)" >&3 & ;;
      kill) signal $id $a $b 2> /dev/null & ;;
      drop) { rm -f /run/lab/$a.*; echo "done $id" >&3; } & ;;
    esac
  done
  # Before the host has opened its end the port reads as ended; after that it means the host is gone.
  [ $idle -ge 0 ] && [ $idle -lt 3000 ] || reboot -f
  idle=$((idle + 1))
  usleep 20000
done
`;
