/**
 * Errors that must end with the statuses verbs name, from and towards rdma_rxe: a wrong rkey and an out-of-bounds READ with
 * 10, a missing receive with 13, a dead peer with 12. The guest runs stock tools; our side misbehaves on purpose, or is
 * misled by what it was told.
 */
import {
  Access,
  type Connection,
  type ConnectionRequest,
  type Cq,
  type Device,
  type MemoryRegion,
  type Qp,
  QpState,
  WcStatus,
  type WorkCompletion,
  WrOpcode,
} from '../../src/index.ts';
import {
  ADVERTISEMENT_BYTES,
  advertisementOf,
  type RemoteBuffer,
  RPING_PORT,
  readAdvertisement,
  writeAdvertisement,
} from '../rping/protocol.ts';
import { within } from './cases.ts';
import { COMMAND_TIMEOUT_MS, GUEST_IPV4, OUR_IPV4, type Station } from './station.ts';

export interface FaultCase {
  readonly name: string;
  /** Who makes the request that fails. */
  readonly requester: 'ours' | 'rxe';
  readonly status: WcStatus;
  /** What is done, in words for the table. */
  readonly what: string;
  readonly run: (station: Station) => Promise<void>;
}

const { RemAccessErr, RnrRetryExcErr, RetryExcErr } = WcStatus;
const RDMA_PORT = 7471;
/** 4.096 us * 2^16: two tries of it end within a second, and an emulated guest answers faster. */
const SHORT_TIMEOUT = 16;
const PING_BYTES = 3000;

/** The last one leaves the guest without a network, so it must stay last. */
export function faultCases(): FaultCase[] {
  return [
    {
      name: 'wrong-rkey-to-rxe',
      requester: 'ours',
      status: RemAccessErr,
      what: 'READ with a wrong rkey',
      run: (s) => readFromRping(s, wrongKey),
    },
    {
      name: 'out-of-bounds-to-rxe',
      requester: 'ours',
      status: RemAccessErr,
      what: 'READ past the end of the region',
      run: (s) => readFromRping(s, tooLong),
    },
    {
      name: 'missing-receive-to-rxe',
      requester: 'ours',
      status: RnrRetryExcErr,
      what: 'second SEND to a peer with one receive',
      run: sendWithoutReceive,
    },
    {
      name: 'wrong-rkey-from-rxe',
      requester: 'rxe',
      status: RemAccessErr,
      what: 'advertised a wrong rkey',
      run: (s) => letRpingRead(s, keyOfNothing),
    },
    {
      name: 'out-of-bounds-from-rxe',
      requester: 'rxe',
      status: RemAccessErr,
      what: 'advertised more than the region holds',
      run: (s) => letRpingRead(s, pastTheEnd),
    },
    {
      name: 'missing-receive-from-rxe',
      requester: 'rxe',
      status: RnrRetryExcErr,
      what: 'no receive posted, one RNR retry',
      run: receiveNothing,
    },
    { name: 'dead-peer-from-rxe', requester: 'rxe', status: RetryExcErr, what: 'our queue pair vanished', run: vanish },
    {
      name: 'dead-peer-to-rxe',
      requester: 'ours',
      status: RetryExcErr,
      what: 'the guest lost its network',
      run: losePeer,
    },
  ];
}

const wrongKey = (buffer: RemoteBuffer): RemoteBuffer => ({ ...buffer, rkey: (buffer.rkey ^ 0x5a_5a_5a) >>> 0 });
/** Lies about a region of ours, as advertised to the peer. */
const keyOfNothing = (region: MemoryRegion): RemoteBuffer => wrongKey({ ...advertisementOf(region), size: PING_BYTES });
const pastTheEnd = (region: MemoryRegion): RemoteBuffer => ({
  address: region.iova + BigInt(region.length - PING_BYTES / 2),
  rkey: region.rkey,
  size: PING_BYTES,
});
const tooLong = (buffer: RemoteBuffer): RemoteBuffer => ({ ...buffer, size: buffer.size + 4096 });

/** A queue pair with one receive for an advertisement and room to read into. */
class Side {
  readonly qp: Qp;
  readonly cq: Cq;
  readonly message: MemoryRegion;
  readonly sink: MemoryRegion;

  constructor(device: Device) {
    const pd = device.allocPd();
    this.cq = device.createCq(32);
    this.qp = pd.createQp({ sendCq: this.cq, recvCq: this.cq, maxSendWr: 8, maxRecvWr: 8 });
    this.message = pd.regMr(ADVERTISEMENT_BYTES, { access: Access.LocalWrite });
    this.sink = pd.regMr(64 * 1024, { access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite });
    this.qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteRead | Access.RemoteWrite });
  }

  postReceive(): void {
    this.qp.postRecv({ wrId: 1, sges: [{ mr: this.message }] });
  }

  /** The next completion; a conversation that stalls fails by name. */
  async next(): Promise<WorkCompletion> {
    const { value, done } = await within(this.cq.next(), 'a completion');
    if (done === true) throw new Error('the device was closed');
    return value;
  }

  async expectSent(): Promise<void> {
    const { status } = await this.next();
    if (status !== WcStatus.Success) throw new Error(`the advertisement was not taken: status ${status}`);
  }

  /** All that is outstanding completes: first `status`, then flushes. Nothing succeeds. */
  async expectFailure(status: WcStatus, flushed: number): Promise<void> {
    const statuses = [];
    for (let i = 0; i <= flushed; i++) statuses.push((await this.next()).status);
    const expected = [status, ...new Array<WcStatus>(flushed).fill(WcStatus.WrFlushErr)];
    if (statuses.join() !== expected.join())
      throw new Error(`our completions are ${statuses.join()}, not ${expected.join()}`);
    if (this.qp.state !== QpState.Error) throw new Error(`our queue pair is in ${this.qp.stateName}, not ERR`);
  }
}

/** The guest's rping client advertises its buffer; we READ it wrongly. Both sides must notice. */
async function readFromRping(station: Station, spoil: (buffer: RemoteBuffer) => RemoteBuffer): Promise<void> {
  const side = new Side(station.device);
  side.postReceive();
  const guest = station.guest.run(`rping -c -a ${OUR_IPV4} -C 1 -S ${PING_BYTES}`, { timeoutMs: COMMAND_TIMEOUT_MS });
  const connection = await acceptOne(station.device, side);
  const received = await side.next();
  if (received.status !== WcStatus.Success)
    throw new Error(`the advertisement did not arrive: status ${received.status}`);
  const { address, rkey, size } = spoil(readAdvertisement(side.message.view));
  side.postReceive();
  side.qp.postSend({
    wrId: 2,
    opcode: WrOpcode.RdmaRead,
    sges: [{ mr: side.sink, length: size }],
    remoteAddr: address,
    rkey,
  });
  await side.expectFailure(RemAccessErr, 1);
  if (side.sink.bytes.some((byte) => byte !== 0)) throw new Error('a refused READ brought data');
  // rdma_rxe as responder is in ERROR too; rping itself says nothing of a flushed receive.
  await station.expect("rdma resource show qp | grep 'type RC' | grep -q 'state ERR'");
  await connection.disconnect();
  await guest;
}

/** rdma_server posts one receive: of two SENDs the second finds none. */
async function sendWithoutReceive(station: Station): Promise<void> {
  const job = await station.serve(`rdma_server -p ${RDMA_PORT}`, RDMA_PORT);
  try {
    const side = new Side(station.device);
    side.postReceive();
    const connection = await station.device.cm.connect({
      address: GUEST_IPV4,
      port: RDMA_PORT,
      qp: side.qp,
      maxRnrRetry: 0,
    });
    for (const wrId of [2, 3]) side.qp.postSend({ wrId, opcode: WrOpcode.Send, inline: new Uint8Array(16) });
    const statuses: WcStatus[] = [];
    while (statuses.at(-1) !== RnrRetryExcErr && statuses.length < 4) statuses.push((await side.next()).status);
    if (!statuses.includes(RnrRetryExcErr)) throw new Error(`our completions are ${statuses.join()}, without 13`);
    if (statuses[0] !== WcStatus.Success) throw new Error('the first SEND did not succeed');
    await station.expect('[ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/send_rnr_err) -ge 1 ]');
    // The server now sends to a queue pair in ERROR, for ever: rxe takes seven retries for infinite (ref:rxe#8).
    await job.kill('KILL');
    await within(connection.closed, 'the disconnect of the killed server');
  } finally {
    await job.kill('KILL');
  }
}

/** The guest's rping server READs what we advertise; what we say of our buffer is a lie. */
async function letRpingRead(station: Station, lie: (region: MemoryRegion) => RemoteBuffer): Promise<void> {
  const job = await station.serve(`rping -s -a ${GUEST_IPV4} -C 1 -S ${PING_BYTES}`, RPING_PORT);
  try {
    const side = new Side(station.device);
    side.postReceive();
    const connection = await station.device.cm.connect({ address: GUEST_IPV4, port: RPING_PORT, qp: side.qp });
    advertise(side, lie(side.sink));
    await side.expectSent();
    await side.expectFailure(WcStatus.WrFlushErr, 0);
    const event = await within(side.qp.events.next(), 'the event of the refused READ');
    if (event.value !== 'qp-access-err') throw new Error(`our event is ${event.value}, not qp-access-err`);
    await expectGuestStatus(job, RemAccessErr);
    await connection.disconnect();
  } finally {
    await job.kill('KILL');
  }
}

/** The guest's rping client SENDs; we have no receive and allow one RNR retry. */
async function receiveNothing(station: Station): Promise<void> {
  const side = new Side(station.device);
  const guest = station.guest.run(`rping -c -a ${OUR_IPV4} -C 1 -S 64`, { timeoutMs: COMMAND_TIMEOUT_MS });
  const before = station.device.portCounters.sendRnrErr;
  const connection = await acceptOne(station.device, side, { rnrRetryCount: 1 });
  const { code, stdout, stderr } = await guest;
  checkGuestStatus(code, `${stdout}${stderr}`, RnrRetryExcErr);
  const refusals = station.device.portCounters.sendRnrErr - before;
  if (refusals !== 2) throw new Error(`we sent ${refusals} RNR NAKs, not 2`);
  if (side.cq.length !== 0) throw new Error('a SEND without a receive completed something');
  await connection.disconnect();
}

/** Our queue pair vanishes before the guest's rping server READs: nobody answers it any more. */
async function vanish(station: Station): Promise<void> {
  const job = await station.serve(`rping -s -a ${GUEST_IPV4} -C 1 -S ${PING_BYTES}`, RPING_PORT);
  try {
    const side = new Side(station.device);
    side.postReceive();
    const options = { address: GUEST_IPV4, port: RPING_PORT, qp: side.qp, retryCount: 1, ackTimeout: SHORT_TIMEOUT };
    const connection = await station.device.cm.connect(options);
    advertise(side, { ...advertisementOf(side.sink), size: PING_BYTES });
    await side.expectSent();
    // Answers the READ that follows with silence: the queue pair's number is nobody's from here on.
    side.qp.destroy();
    await expectGuestStatus(job, RetryExcErr);
    await connection.disconnect();
  } finally {
    await job.kill('KILL');
  }
}

/** The guest's network goes away under an open connection. */
async function losePeer(station: Station): Promise<void> {
  const job = await station.serve(`rping -s -a ${GUEST_IPV4} -C 1 -S ${PING_BYTES}`, RPING_PORT);
  const side = new Side(station.device);
  side.postReceive();
  const options = { address: GUEST_IPV4, port: RPING_PORT, qp: side.qp, retryCount: 2, ackTimeout: SHORT_TIMEOUT };
  await station.device.cm.connect(options);
  await station.expect('ip link set eth0 down');
  const before = station.device.portCounters.localAckTimeoutErr;
  advertise(side, { ...advertisementOf(side.sink), size: PING_BYTES });
  await side.expectFailure(RetryExcErr, 1);
  const timeouts = station.device.portCounters.localAckTimeoutErr - before;
  if (timeouts !== 3) throw new Error(`the request was given up after ${timeouts} timeouts, not 3`);
  await job.kill('KILL');
}

function advertise(side: Side, buffer: RemoteBuffer): void {
  const bytes = new Uint8Array(ADVERTISEMENT_BYTES);
  writeAdvertisement(new DataView(bytes.buffer), buffer);
  side.qp.postSend({ wrId: 2, opcode: WrOpcode.Send, inline: bytes });
}

async function acceptOne(device: Device, side: Side, options: { rnrRetryCount?: number } = {}): Promise<Connection> {
  const listener = device.cm.listen(RPING_PORT);
  try {
    const { value, done } = await within(listener.next(), 'a connection request');
    if (done === true) throw new Error('the device was closed');
    const request: ConnectionRequest = value;
    return await request.accept({ qp: side.qp, ...options });
  } finally {
    listener.close();
  }
}

async function expectGuestStatus(
  job: { wait(ms: number): Promise<{ code: number; stdout: string; stderr: string }> },
  status: WcStatus,
): Promise<void> {
  const { code, stdout, stderr } = await job.wait(COMMAND_TIMEOUT_MS);
  checkGuestStatus(code, `${stdout}${stderr}`, status);
}

/** rping prints the status of the completion that failed first. */
function checkGuestStatus(code: number, output: string, status: WcStatus): void {
  const seen = /cq completion failed status (\d+)/.exec(output)?.[1];
  if (seen !== String(status) || code === 0) {
    throw new Error(
      `the guest's rping ended with exit code ${code} and status ${seen ?? 'none'}, not ${status}\n${output}`,
    );
  }
}
