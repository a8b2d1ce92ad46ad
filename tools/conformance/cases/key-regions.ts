/**
 * Cases of area KEY on regions, decided with host control: rights, domains, keys that die, receives in bad memory,
 * events.
 */
import { Op } from 'rocev2/packets';
import {
  describePacket,
  fetchAdd,
  type Packet,
  pattern,
  readRequest,
  sendOnly,
  writeOnly,
  writeOnlyImm,
} from 'rocev2/packets/kit';
import type { AccessFlag } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { demand, Inconclusive } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { during, knownKinds } from './answers.ts';
import { badKeys, demandMemory, paint, regionBeside } from './memory.ts';

export const KEY_REGION_CASES: readonly Case[] = [
  { rules: ['KEY-02'], title: 'without a receive', needs: ['host-control'], run: faultIsAnEvent },
  { rules: ['KEY-02'], title: 'with a receive', needs: ['host-control'], run: faultIsACompletion },
  {
    rules: ['KEY-03'],
    needs: ['host-control'],
    async run(t) {
      for (const request of [writeOnly, (f: Parameters<typeof writeOnly>[0]) => writeOnlyImm({ ...f, imm: 1 })]) {
        const peer = await t.connect({ receives: 4 });
        peer.tx(request({ psn: 0, ackReq: true, payload: pattern(16), reth: badReth(peer, 16) }));
        await peer.expectNak(0x62, 0);
        const statuses = (await peer.recvCompletions(4)).map(({ status }) => status);
        demand(
          statuses.every((status) => status === FLUSHED),
          `the four receives ended with statuses ${statuses.join(', ')}: a refused WRITE has consumed one`,
        );
      }
    },
  },
  { rules: ['KEY-07'], needs: ['host-control'], run: rightsOfRegions },
  {
    rules: ['KEY-08'],
    needs: ['host-control'],
    async run(t) {
      const owner = await t.connect();
      owner.tx(use(owner.region, 0, 'WRITE'));
      await owner.expectAck(0);
      for (const kind of knownKinds(t, 'WRITE', 'READ', 'FETCH ADD')) {
        const peer = await t.connect();
        const before = await paint(owner, pattern(64, 3));
        peer.tx(use(owner.region, 0, kind));
        await peer.expectNak(0x62, 0);
        await demandMemory(owner, 0, before, `${kind} with a key of another protection domain`);
      }
    },
  },
  {
    rules: ['KEY-09'],
    needs: ['host-control'],
    async run(t) {
      for (const kind of knownKinds(t, 'READ', 'WRITE', 'FETCH ADD')) {
        const peer = await t.connect();
        const region = await regionBeside(t, peer, 4096, ALL);
        peer.tx(use(region, 0, 'WRITE'));
        await peer.expectAck(0);
        await t.hostControl.call('mr.dereg', { mr: region.mr });
        peer.tx(use(region, 1, kind));
        await peer.expectNak(0x62, 1);
      }
    },
  },
  { rules: ['KEY-13', 'RD-14'], needs: ['host-control'], run: keyDiesInRead },
  { rules: ['KEY-16'], needs: ['host-control'], run: badReceives },
];

const FLUSHED = 5;
const ALL: readonly AccessFlag[] = ['local-write', 'remote-write', 'remote-read', 'remote-atomic'];

type Kind = 'READ' | 'WRITE' | 'FETCH ADD';

/** A request of one packet on the front of a region. */
function use({ va, rkey }: { va: bigint; rkey: number }, psn: number, kind: Kind): Packet {
  const reth = { va, rkey, length: 16 };
  if (kind === 'READ') return readRequest({ psn, reth });
  return kind === 'WRITE'
    ? writeOnly({ psn, ackReq: true, reth, payload: pattern(16, 2) })
    : fetchAdd({ psn, va, rkey, add: 1n });
}

const badReth = ({ region }: TesterPeer, length: number) => ({
  va: region.va,
  rkey: badKeys(region.rkey)[0] ?? 0,
  length,
});

async function faultIsAnEvent(t: Tester): Promise<void> {
  const plain = await t.connect();
  plain.tx(writeOnly({ psn: 0, ackReq: true, payload: pattern(16), reth: badReth(plain, 16) }));
  await plain.expectNak(0x62, 0);
  await plain.expectState('ERR');
  await t.event('qp-access-err');
}

async function faultIsACompletion(t: Tester): Promise<void> {
  const withImm = await t.connect({ receives: 2 });
  withImm.tx(writeOnlyImm({ psn: 0, ackReq: true, payload: pattern(16), imm: 1, reth: badReth(withImm, 16) }));
  await withImm.expectNak(0x62, 0);
  await withImm.expectState('ERR');
  const [first] = await withImm.recvCompletions(1);
  withImm.isReceived(first, { wrId: 1, failed: 'any' });
  // Flushed: the fault had no receive, and is an event then.
  if (first?.status === FLUSHED) await t.event('qp-access-err');
}

async function rightsOfRegions(t: Tester): Promise<void> {
  const rights: Readonly<Record<Kind, AccessFlag>> = {
    READ: 'remote-read',
    WRITE: 'remote-write',
    'FETCH ADD': 'remote-atomic',
  };
  const kinds = knownKinds(t, 'READ', 'WRITE', 'FETCH ADD');
  for (const kind of kinds) {
    const regionAccess = ALL.filter((flag) => flag !== rights[kind]);
    const peer = await t.connect({ regionAccess });
    const before = await paint(peer, pattern(64, 3));
    peer.tx(use(peer.region, 0, kind));
    await peer.expectFatalNak(0x62, 0);
    await demandMemory(peer, 0, before, `${kind} on a region without ${rights[kind]}`);
    // The rights that it has are enough for the others.
    const other = await t.connect({ regionAccess });
    for (const [psn, allowed] of kinds.filter((one) => one !== kind).entries()) {
      other.tx(use(other.region, psn, allowed));
      if (allowed === 'WRITE') await other.expectAck(psn);
      else
        await other.rx([
          { opcode: Op.ReadResponseOnly, psn },
          { opcode: Op.AtomicAcknowledge, psn },
        ]);
    }
  }
}

/** Deregisters a region while a READ of it streams; longer READs until the key died in time. */
async function keyDiesInRead(t: Tester): Promise<void> {
  for (const length of [1 << 18, 1 << 20, 1 << 23, 1 << 25]) {
    const peer = await t.connect({ mtu: 1024 });
    const region = await regionBeside(t, peer, length, ALL);
    peer.tx(readRequest({ psn: 0, reth: { va: region.va, rkey: region.rkey, length } }));
    await peer.rx({ opcode: Op.ReadResponseFirst, psn: 0 });
    await t.hostControl.call('mr.dereg', { mr: region.mr });
    const psn = await endOfStream(t, peer, length / peer.mtu - 1);
    if (psn === undefined) continue;
    await peer.expectSilence();
    await peer.expectDead(psn);
    return;
  }
  throw new Inconclusive('every READ was over before its key died');
}

/**
 * The PSN at which a NAK has ended a READ whose last response is `last`; undefined when it came to its end, or that
 * cannot be found out: a network may lose responses, which is no fault of the device.
 */
async function endOfStream(t: Tester, peer: TesterPeer, last: number): Promise<number | undefined> {
  for (let newest = 0; ; ) {
    const received = await peer.take();
    demand(received !== undefined, `behind response ${newest} of ${last} neither another came nor a NAK`);
    const { packet } = received;
    const { opcode, psn, syndrome } = packet;
    if (opcode === Op.Acknowledge && syndrome === 0x62) {
      if (psn === newest + 1) return psn;
      demand(!t.dut.virtual && psn > newest, () => `behind response ${newest}, ${describePacket(packet)} came`);
      t.note(`NAK at psn+${psn} behind response ${newest}: the network may have lost what was between`);
      return undefined;
    }
    const response = opcode === Op.ReadResponseMiddle || (opcode === Op.ReadResponseLast && psn === last);
    demand(response && psn > newest, () => `behind response ${newest}, ${describePacket(packet)} came`);
    if (psn > newest + 1) t.note('the network has lost responses');
    if (psn === last) return undefined;
    newest = psn;
  }
}

async function badReceives(t: Tester): Promise<void> {
  const wrong = [
    ['a key that opens nothing', (peer: TesterPeer) => ({ lkey: badKeys(peer.buffers?.lkey ?? 0)[0] ?? 0 })],
    ['an address outside', (peer: TesterPeer) => ({ address: (peer.buffers?.va ?? 0n) + (1n << 40n) })],
  ] as const;
  for (const [what, part] of wrong) {
    const peer = await t.connect({ receives: 0 });
    const mr = t.need(peer.buffers?.mr);
    const pieces = [{ mr, offset: 0, length: 256, ...part(peer) }];
    await t.hostControl.call('qp.recv', { qp: peer.qp, wrId: 1, pieces });
    peer.tx(sendOnly({ psn: 0, ackReq: true, payload: pattern(64) }));
    await peer.expectFatalNak(0x63, 0);
    await during(`a receive with ${what}`, peer.receives({ wrId: 1, failed: 'any' }));
  }
}
