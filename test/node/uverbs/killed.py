"""
A verbs program that brings itself to the state that its argument names, says so, and waits to be killed.
Run by killed.long.test.ts under the shim. The device has the address 10.0.0.1, GID 1; a peer of the test's is at
10.0.0.2, and nobody at 10.0.0.99.
"""
import os
import signal
import socket
import struct
import sys
import threading
from collections import namedtuple

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.addr import GID, AH, AHAttr, GlobalRoute
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqInitAttr, SrqAttr
from pyverbs.wr import SGE, RecvWR, SendWR

# Of the frames between shim and server (wire.h).
WIRE_VERSION = 3
OURS = '10.0.0.1'
PEER = '10.0.0.2'
NOBODY = '10.0.0.99'
# No queue pair of the peer's: what is sent to it is not answered.
SILENT_QPN = 0xfffff0
# Of the test, which accepts what comes.
PEER_PORT = '7471'
# Of the test, which takes no request.
BUSY_PORT = '7472'
# Of the program.
OWN_PORT = '7473'
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
          e.IBV_ACCESS_REMOTE_ATOMIC | e.IBV_ACCESS_MW_BIND)
Ends = namedtuple('Ends', 'context domain region cq qp')
# What is let go is destroyed.
kept = []


def keep(thing):
    kept.append(thing)
    return thing


def ready():
    print('ready', flush=True)


def wait():
    ready()
    while True:
        signal.pause()


def context():
    return keep(Context(name='rxe0'))


def domain_of(ctx):
    return keep(PD(ctx))


def region_of(domain):
    return keep(MR(domain, 8192, ACCESS))


def queue_pair(kind=e.IBV_QPT_RC, srq=None):
    ctx = context()
    domain = domain_of(ctx)
    cq = keep(CQ(ctx, 16, None, None, 0))
    region = region_of(domain)
    init = QPInitAttr(qp_type=kind, scq=cq, rcq=cq, srq=srq and srq(domain), cap=QPCap(max_send_wr=8, max_recv_wr=8))
    return Ends(ctx, domain, region, cq, keep(QP(domain, init, QPAttr())))


def attributes():
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS & ~e.IBV_ACCESS_MW_BIND
    attr.path_mtu = e.IBV_MTU_1024
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer = 12
    # 4.3 s, seven times: longer than the test looks.
    attr.timeout = 20
    attr.retry_cnt = attr.rnr_retry = 7
    attr.dest_qp_num = SILENT_QPN
    return attr


def path_to(address):
    gid = GID('0000:0000:0000:0000:0000:ffff:' + socket.inet_aton(address).hex(':', 2))
    return AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=gid, sgid_index=1))


def connected():
    ends = queue_pair()
    attr = attributes()
    attr.ah_attr = path_to(PEER)
    ends.qp.to_rts(attr)
    return ends


def many_connected(ctx, count):
    domain = domain_of(ctx)
    cq = keep(CQ(ctx, 64, None, None, 0))
    attr = attributes()
    attr.ah_attr = path_to(PEER)
    for _ in range(count):
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=8, max_recv_wr=8))
        keep(QP(domain, init, QPAttr())).to_rts(attr)


def move(qp, state):
    attr = QPAttr(qp_state=state)
    qp.modify(attr, e.IBV_QP_STATE)


def reset():
    queue_pair()
    wait()


def init():
    queue_pair().qp.to_init(attributes())
    wait()


def rtr():
    ends = queue_pair()
    attr = attributes()
    attr.ah_attr = path_to(PEER)
    ends.qp.to_rtr(attr)
    wait()


def rts():
    connected()
    wait()


def sqd():
    qp = connected().qp
    move(qp, e.IBV_QPS_SQD)
    wait()


def error():
    qp = connected().qp
    move(qp, e.IBV_QPS_ERR)
    wait()


def post(opcode):
    _, _, region, _, qp = connected()
    for number in range(4):
        request = SendWR(wr_id=number, opcode=opcode, num_sge=1, sg=[SGE(region.buf, 4096, region.lkey)])
        if opcode != e.IBV_WR_SEND:
            request.set_wr_rdma(region.rkey, region.buf)
        qp.post_send(request)
    wait()


def receives():
    _, _, region, _, qp = connected()
    for number in range(8):
        qp.post_recv(RecvWR(wr_id=number, num_sge=1, sg=[SGE(region.buf, 64, region.lkey)]))
    wait()


def shared_receives():
    made = []

    def srq(domain):
        made.append(keep(SRQ(domain, SrqInitAttr(SrqAttr(max_wr=8)))))
        return made[0]

    region = queue_pair(srq=srq).region
    made[0].post_recv(RecvWR(wr_id=1, num_sge=1, sg=[SGE(region.buf, 64, region.lkey)]))
    wait()


def address_handle():
    keep(AH(domain_of(context()), attr=path_to(PEER)))
    wait()


def address_handle_waits():
    domain = domain_of(context())
    ready()
    AH(domain, attr=path_to(NOBODY))


def window_bound():
    _, domain, region, cq, qp = connected()
    window = keep(MW(domain, e.IBV_MW_TYPE_1))
    info = MWBindInfo(region, region.buf, 4096, e.IBV_ACCESS_REMOTE_WRITE)
    qp.bind_mw(window, MWBind(info, e.IBV_SEND_SIGNALED))
    while cq.poll()[0] == 0:
        pass
    wait()


def waits_for_completion():
    ctx = context()
    channel = keep(CompChannel(ctx))
    cq = keep(CQ(ctx, 16, None, channel, 0))
    cq.req_notify()
    ready()
    channel.get_cq_event(cq)


def waits_for_async_event():
    ctx = context()
    ready()
    ctx.get_async_event()


def completion_queue():
    keep(CQ(context(), 1000, None, None, 0))
    wait()


def polls():
    cq = keep(CQ(context(), 16, None, None, 0))
    ready()
    while True:
        cq.poll()


def many_threads_run_commands():
    ctx = context()

    def run():
        while True:
            PD(ctx).close()

    for _ in range(3):
        threading.Thread(target=run).start()
    wait()


def next_event(channel, expected):
    event = CMEvent(channel)
    if event.event_type != expected:
        raise SystemExit(f'{event.event_str()} came')
    return event


def cm_id(space=ce.RDMA_PS_TCP):
    channel = keep(CMEventChannel())
    return channel, keep(CMID(creator=channel, port_space=space))


def cm_created():
    cm_id()
    wait()


def cm_resolving():
    cm_id()[1].resolve_addr(keep(AddrInfo(src=OURS, dst=NOBODY, dst_service=PEER_PORT)))
    wait()


def cm_resolved(port=PEER_PORT):
    channel, ident = cm_id()
    ident.resolve_addr(keep(AddrInfo(src=OURS, dst=PEER, dst_service=port)))
    next_event(channel, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    ident.resolve_route()
    next_event(channel, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    ident.create_qp(QPInitAttr(qp_type=e.IBV_QPT_RC, cap=QPCap()))
    return channel, ident


def cm_route():
    cm_resolved()
    wait()


def cm_connecting():
    cm_resolved(BUSY_PORT)[1].connect(ConnParam())
    wait()


def cm_established():
    channel, ident = cm_resolved()
    ident.connect(ConnParam())
    next_event(channel, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    return channel, ident


def cm_active():
    cm_established()
    wait()


def cm_disconnected():
    cm_established()[1].disconnect()
    wait()


def cm_listening():
    channel, ident = cm_id()
    ident.bind_addr(keep(AddrInfo(src=OURS, src_service=OWN_PORT, flags=ce.RAI_PASSIVE)))
    ident.listen()
    return channel, ident


def cm_listens():
    cm_listening()
    wait()


def cm_request_read():
    channel, ident = cm_listening()
    ready()
    keep(CMID(creator=keep(next_event(channel, ce.RDMA_CM_EVENT_CONNECT_REQUEST)), listen_id=ident))
    wait()


def cm_passive():
    channel, ident = cm_listening()
    ready()
    child = keep(CMID(creator=keep(next_event(channel, ce.RDMA_CM_EVENT_CONNECT_REQUEST)), listen_id=ident))
    child.create_qp(QPInitAttr(qp_type=e.IBV_QPT_RC, cap=QPCap()))
    child.accept(ConnParam())
    next_event(channel, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    wait()


def multicast():
    channel, ident = cm_id(ce.RDMA_PS_UDP)
    ident.bind_addr(keep(AddrInfo(src=OURS, port_space=ce.RDMA_PS_UDP, flags=ce.RAI_PASSIVE)))
    ident.resolve_addr(keep(AddrInfo(src=OURS, dst='239.1.1.1', port_space=ce.RDMA_PS_UDP)))
    next_event(channel, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    ident.create_qp(QPInitAttr(qp_type=e.IBV_QPT_UD, cap=QPCap()))
    ident.join_multicast(addr=keep(AddrInfo(src='239.1.1.1')))
    next_event(channel, ce.RDMA_CM_EVENT_MULTICAST_JOIN).ack_cm_event()
    wait()


def child_lives():
    """The child says its number and that it is there."""
    connected()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        wait()
    while True:
        signal.pause()


def half_frame():
    """Speaks to the server itself: OPEN, and then a COMMAND of which the end never comes."""
    # A connection of the shim's own, for the program is one like others beside that.
    connected()
    by_hand = keep(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    by_hand.connect(os.environ['ROCE_UVERBS'])
    by_hand.sendall(struct.pack('<IHHIII', 4, 1, WIRE_VERSION, 0, 0, 1))
    by_hand.recv(16 + 24, socket.MSG_WAITALL)
    by_hand.sendall(struct.pack('<IHHII', 5000, 4, WIRE_VERSION, 1, 0) + bytes(2500))
    wait()


def everything():
    """Twenty open files with a queue pair each, and a listening id."""
    for _ in range(20):
        connected()
    cm_listens()


STATES = {
    'context': lambda: (context(), wait()),
    'pd': lambda: (domain_of(context()), wait()),
    'mr': lambda: (region_of(domain_of(context())), wait()),
    'sends': lambda: post(e.IBV_WR_SEND),
    'reads': lambda: post(e.IBV_WR_RDMA_READ),
}

if __name__ == '__main__':
    name = sys.argv[1]
    (STATES.get(name) or globals()[name])()
