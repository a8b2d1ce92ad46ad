/**
 * Area PKT, second part: fields of the BTH and addresses that decide whose a packet is, and fields that must not
 * matter. Sources: ref:conformance#PKT-05 to PKT-11, PKT-15 to PKT-18, PKT-22, ref:hostile#4.1.
 */
import { OPCODES, Op, opcodeInfo, SERVICE_MASK, Service } from 'rocev2/packets';
import { cnp, type Draft, datagram, pattern, request, sendOnly, uc } from 'rocev2/packets/kit';
import { ETHERNET_BYTES } from 'rocev2/packets/network';
import type { HostQpAttributes } from '../host-control/host-control.ts';
import type { Case } from '../tester/case.ts';
import { DUT_QKEY } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';
import { foreignAddresses, neighbourOf, ownedAddresses } from './addresses.ts';
import { cutTo, edit } from './edits.ts';
import { type MakePacket, RequestSequence, versionsOf } from './line.ts';

const MAC_BYTES = 6;

export const PKT_FIELD_CASES: readonly Case[] = [
  { rules: ['PKT-05'], run: transportVersions },
  { rules: ['PKT-06'], run: unknownQpns },
  { rules: ['PKT-07'], title: 'to an RC queue pair', run: (t) => otherClasses(t, (code) => opcodeInfo(code).known) },
  {
    rules: ['PKT-07'],
    title: 'to an RC queue pair, unknown opcodes',
    hazardous: true,
    run: (t) => otherClasses(t, (code) => !opcodeInfo(code).known),
  },
  { rules: ['PKT-07'], title: 'to a UC queue pair', needs: ['host-control', 'uc'], run: reliableToUc },
  { rules: ['PKT-07'], title: 'to a UD queue pair', needs: ['host-control', 'ud'], run: reliableToUd },
  { rules: ['PKT-08'], hazardous: true, run: reservedOpcodes },
  { rules: ['PKT-09'], needs: ['host-control'], run: notReady },
  { rules: ['PKT-10'], run: otherAddresses },
  { rules: ['PKT-10'], title: 'to another host of the link', needs: ['ethernet'], run: otherMac },
  { rules: ['PKT-11'], hazardous: true, run: noGid },
  { rules: ['PKT-15'], run: sourcePorts },
  { rules: ['PKT-16'], run: reservedBits },
  { rules: ['PKT-17'], run: migReq },
  { rules: ['PKT-17'], title: 'requests and answers', needs: ['host-control'], run: oneMigReq },
  { rules: ['PKT-18'], title: 'UD', needs: ['host-control', 'ud'], run: ackReqOfUd },
  { rules: ['PKT-18'], title: 'UC', needs: ['host-control', 'uc'], run: ackReqOfUc },
  { rules: ['PKT-18'], title: 'CNP', run: ackReqOfCnp },
  { rules: ['PKT-22'], hazardous: true, run: multicastQpn },
];

async function transportVersions(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const whole = line.write(pattern(8));
  await line.ignores(
    Array.from(
      { length: 15 },
      (_, i): MakePacket =>
        (psn) => ({ ...whole(psn), tver: i + 1 }),
    ),
  );
  await line.accepts(whole);
}

/**
 * Numbers near the live one, and those that differ from it in one bit; other rules cover 0, 1 and the multicast
 * number.
 */
async function unknownQpns(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const { dutQpn } = line.peer;
  const near = Array.from({ length: 32 }, (_, i) => dutQpn + (i < 16 ? i - 16 : i - 15));
  const far = Array.from({ length: 24 }, (_, bit) => dutQpn ^ (1 << bit));
  const qpns = [...new Set([...near, ...far])].filter((qpn) => qpn > 1 && qpn < 0xff_ff_ff);
  const { strays } = t.dut.station;
  const before = strays.length;
  const whole = line.write(pattern(8));
  await line.ignores(
    qpns.map(
      (destQpn): MakePacket =>
        (psn) => ({ ...whole(psn), destQpn }),
    ),
  );
  await line.accepts(whole);
  const answers = strays.slice(before).filter(({ opcode }) => (opcode & SERVICE_MASK) === Service.Rc);
  demand(answers.length === 0, `${answers.length} packets for queue pairs that do not exist were answered`);
}

/** Classes that RC is not: as far as they have opcodes, with all their headers and the right PSN. */
async function otherClasses(t: Tester, wanted: (code: number) => boolean): Promise<void> {
  const line = await RequestSequence.open(t);
  const codes = OPCODES.map(({ code }) => code).filter(
    (code) => (code & SERVICE_MASK) !== Service.Rc && code !== Op.Cnp && wanted(code),
  );
  await line.ignores(codes.map((code) => full(line, code)));
  await line.accepts(line.write(pattern(8)));
}

/** A packet of that opcode with everything right that it may have: key, range, immediate, Q_Key. */
const full =
  (line: RequestSequence, opcode: number): MakePacket =>
  (psn) => {
    const { va, rkey } = line.peer.region;
    return request(opcode, {
      ...{ psn, ackReq: true, payload: pattern(LONGEST_HEADERS), reth: line.reth(LONGEST_HEADERS) },
      ...{ atomic: { va, rkey, swapAdd: 1n, compare: 0n }, feth: { placement: 1, selectivity: 0 } },
      ...{ imm: 7, inv: rkey, qkey: DUT_QKEY, srcQpn: line.peer.qpn, syndrome: 0x1f, msn: 0, original: 0n },
    });
  };

/** RC requests to a UC queue pair: no answer, nothing stored, and the next UC message is the first. */
async function reliableToUc(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { type: 'uc' });
  const { peer } = line;
  for (const { code } of OPCODES.filter(({ known, service }) => known && service === Service.Rc))
    peer.tx(full(line, code)(0));
  peer.tx(uc(sendOnly({ psn: 0, payload: pattern(21) })));
  await peer.receives({ wrId: 1, byteLen: 21 });
  await peer.expectSilence();
  await untouched(peer);
}

async function reliableToUd(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t, { type: 'ud' });
  const { peer } = line;
  for (const { code } of OPCODES.filter(({ known, service }) => known && service === Service.Rc))
    peer.tx(full(line, code)(0));
  peer.tx(datagram({ psn: 0, qkey: DUT_QKEY, srcQpn: peer.qpn, payload: pattern(21) }));
  await peer.receives({ wrId: 1, byteLen: 61, srcQp: peer.qpn });
  await peer.expectSilence();
  await untouched(peer);
}

async function untouched(peer: TesterPeer): Promise<void> {
  const bytes = await peer.memory(0, LONGEST_HEADERS);
  demand(
    bytes.every((byte) => byte === 0),
    'memory was written by a packet of another class',
  );
}

async function reservedOpcodes(t: Tester): Promise<void> {
  for (const code of [0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f]) {
    const line = await RequestSequence.open(t);
    line.peer.tx(full(line, code)(0));
    await line.peer.expectFatalNak(0x61, 0);
  }
}

/**
 * Requests to a queue pair that is not there yet leave nothing behind: what it expects, once it is ready, is its first
 * PSN.
 */
async function notReady(t: Tester): Promise<void> {
  const live = await RequestSequence.open(t);
  for (const state of ['RESET', 'INIT'] as const) {
    const peer = await t.connect({ state });
    const line = new RequestSequence(peer);
    for (const psn of [0, 1])
      peer.tx(sendOnly({ psn, payload: pattern(8), ackReq: true }), line.write(pattern(8))(psn));
    await live.ignored([]);
    await peer.expectSilence();
    if (state === 'RESET')
      await peer.modify({ state: 'INIT', port: 1, pkeyIndex: 0, access: ['remote-write', 'remote-read'] });
    await peer.modify({ state: 'RTR', ...attributesOf(t, peer) });
    await peer.expectNextPsn(0, 1);
    await untouched(peer);
  }
  const peer = await t.connect();
  await peer.expectNextPsn(0, 1);
  await peer.modify({ state: 'ERR' });
  await peer.expectState('ERR');
  peer.tx(new RequestSequence(peer).write(pattern(8))(1), new RequestSequence(peer).write(pattern(8))(0));
  await live.ignored([]);
  await peer.expectSilence();
  await untouched(peer);
}

/** What a queue pair takes on its way to RTR, for the tester's end that it was meant for. */
function attributesOf(t: Tester, peer: TesterPeer): HostQpAttributes {
  const { route, qpn, firstPsn, mtu } = peer;
  const { gidIndex } = t.address(route.source.version);
  const path = { destination: `${route.source}`, sgidIndex: gidIndex };
  return { path, destQpn: qpn, rqPsn: firstPsn, mtu, maxDestRdAtomic: 1, minRnrTimer: 12 };
}

async function otherAddresses(t: Tester): Promise<void> {
  const versions = versionsOf(t);
  for (const version of versions) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(8));
    const { source } = line.peer.route;
    const sources = [neighbourOf(`${source}`), ...foreignAddresses(version)];
    const stimuli = sources.map(
      (from): MakePacket =>
        (psn) => ({ ...whole(psn), source: from }),
    );
    // The other IP version: addresses that are ours and the device's, and not those of this queue pair.
    const other = versions.find((one) => one !== version);
    if (other !== undefined) {
      const { address, ours } = t.address(other);
      stimuli.push((psn) => ({ ...whole(psn), source: `${ours}`, destination: `${address}` }));
    }
    await line.ignores(stimuli);
    await line.accepts(whole);
  }
}

/** A switch that does not know where a host is floods: the frame reaches everybody, and is for one. */
async function otherMac(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const whole = line.write(pattern(8));
  const last = ({ ip }: Draft): number => ip - ETHERNET_BYTES + MAC_BYTES - 1;
  await line.ignores([
    (psn) => ({
      ...whole(psn),
      edit: edit((draft) => draft.view.setUint8(last(draft), draft.view.getUint8(last(draft)) ^ 0x10)),
      note: 'to another MAC address',
    }),
  ]);
  await line.accepts(whole);
}

async function noGid(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const whole = line.write(pattern(8));
    const destinations = [...ownedAddresses(version), neighbourOf(`${line.peer.route.destination}`)];
    await line.ignores(
      destinations.map(
        (destination): MakePacket =>
          (psn) => ({ ...whole(psn), destination }),
      ),
    );
    await line.accepts(whole);
  }
}

async function sourcePorts(t: Tester): Promise<void> {
  for (const version of versionsOf(t)) {
    const line = await RequestSequence.open(t, { version });
    const ports = [0xc0_00, 0xff_ff, 4791, 1024, 0x80_00, 53_211, 1, 0xc0_01];
    await line.accepts(...ports.map((sourcePort) => line.write(pattern(8), { sourcePort })));
  }
}

async function reservedBits(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const sixes = [...Array.from({ length: 6 }, (_, bit) => 1 << bit), 0x3f].map((reserved6) => ({ reserved6 }));
  const sevens = [...Array.from({ length: 7 }, (_, bit) => 1 << bit), 0x7f].map((reserved7) => ({ reserved7 }));
  const both = { reserved6: 0x3f, reserved7: 0x7f };
  await line.accepts(...[...sixes, ...sevens, both].map((bits) => line.write(pattern(8), bits)));
}

async function migReq(t: Tester): Promise<void> {
  const { peer } = await RequestSequence.open(t);
  const seen = new Set<number>();
  for (let psn = 0; psn < 8; psn++) {
    peer.tx({ ...sendOnly({ psn, payload: pattern(8), ackReq: true }), migReq: (psn & 1) === 0 ? 0 : 1 });
    seen.add((await peer.expectAck(psn, psn + 1)).sighting.migReq);
  }
  demand(seen.size === 1, 'MigReq of the ACKs follows that of the requests');
  t.note(`MigReq of the device is ${[...seen].join()}`);
}

/** The bit is that of the queue pair: its requests and its answers have the same. */
async function oneMigReq(t: Tester): Promise<void> {
  const peer = await t.connect();
  peer.tx(sendOnly({ psn: 0, payload: pattern(8), ackReq: true }));
  const answer = await peer.expectAck(0, 1);
  await peer.post({ wrId: 1, opcode: 'send', pieces: [] });
  const asked = await peer.rx({ opcode: Op.SendOnly, psn: 0 });
  peer.ack(0, 1);
  const [of, other] = [asked.sighting.migReq, answer.sighting.migReq];
  demand(of === other, `MigReq of the requests is ${of}, that of the answers ${other}`);
}

async function ackReqOfUd(t: Tester): Promise<void> {
  const { peer } = await RequestSequence.open(t, { type: 'ud' });
  peer.tx({ ...datagram({ psn: 0, qkey: DUT_QKEY, srcQpn: peer.qpn, payload: pattern(8) }), ackReq: true });
  await peer.receives({ wrId: 1, byteLen: 48, srcQp: peer.qpn });
  await peer.expectSilence();
}

async function ackReqOfUc(t: Tester): Promise<void> {
  const { peer } = await RequestSequence.open(t, { type: 'uc' });
  peer.tx({ ...uc(sendOnly({ psn: 0, payload: pattern(8) })), ackReq: true });
  await peer.receives({ wrId: 1, byteLen: 8 });
  await peer.expectSilence();
}

async function ackReqOfCnp(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  await line.ignored([cnp({ ackReq: true }), cnp({ ackReq: true, solicited: true })]);
}

/** Whatever the opcode and however long, by unicast and to a group: it never reaches a queue pair that is connected. */
async function multicastQpn(t: Tester): Promise<void> {
  const line = await RequestSequence.open(t);
  const codes = OPCODES.filter(({ known, service, code }) => service === Service.Rc || (!known && code % 8 === 7));
  const lengths = (code: number): MakePacket[] =>
    Array.from({ length: 17 }, (_, words): MakePacket => {
      const edit = cutTo(4 * words);
      return (psn) => ({
        ...full(line, code)(psn),
        destQpn: MULTICAST_QPN,
        edit,
        note: `${4 * words} bytes behind UDP`,
      });
    });
  const whole =
    (code: number): MakePacket =>
    (psn) => ({ ...full(line, code)(psn), destQpn: MULTICAST_QPN });
  await line.ignores(
    codes.flatMap(({ code }) => [whole(code), ...lengths(code)]),
    64,
  );
  const group = line.peer.route.source.version === 4 ? '224.0.0.1' : 'ff02::1';
  await line.ignores(
    codes.map(
      ({ code }): MakePacket =>
        (psn) => ({ ...whole(code)(psn), destination: group }),
    ),
  );
  await line.accepts(line.write(pattern(8)));
}

const MULTICAST_QPN = 0xff_ff_ff;
/** RETH and FETH, or the AtomicETH and what datagrams have: so many bytes are enough for any opcode. */
const LONGEST_HEADERS = 64;
