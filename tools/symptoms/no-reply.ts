/** Scenes of `no-reply`: requests that are never answered, and captures that only lack the responses. */
import { type Frame, Op } from 'rocev2/packets';
import { ROCE_UDP_PORT } from 'rocev2/packets/network';
import { QpState, QpType, WcStatus, WrOpcode } from 'rocev2/transport';
import { crossedSends } from './crossed.ts';
import { type IcmpSpec, icmpError, roceFrame, type Station, station, tcpFrame } from './forge.ts';
import { deth } from './headers.ts';
import { play, type Scene } from './scene.ts';
import { demandStatus, type Stage, type StageFrame } from './stage.ts';

/** All of them. */
export const NO_REPLY_SCENES: readonly Scene[] = [
  {
    symptom: 'no-reply',
    name: 'no-reply-firewall',
    triggers: true,
    about:
      'A and B connect over TCP, but a firewall in front of B drops UDP port 4791: eight tries of a SEND, no response.',
    make: () => play({ vantages: ['A'] }, firewall),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-filtered-capture',
    triggers: true,
    about: 'The same, taken with the capture filter "udp port 4791": nothing that comes to A is in the capture.',
    make: () => play({ vantages: ['A'], keep: isRoce }, firewall),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-wrong-qpn-ipv6',
    triggers: true,
    about:
      'A large WRITE over IPv6 to a queue pair number that B does not have, seen at B: the requests arrive, B keeps silent.',
    make: () => play({ vantages: ['B'] }, wrongNumber),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-three-pairs',
    triggers: true,
    about: 'Three queue pairs to a host that does not answer, two tries each.',
    make: () => play({ vantages: ['A'] }, threePairs),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-port-unreachable',
    triggers: true,
    about: 'B has no RDMA device at this address: its kernel answers each try with ICMP "port unreachable".',
    make: () => play({ vantages: ['A'] }, (stage) => refused(stage, 4, { type: 3, code: 3 }, 2)),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-address-unreachable',
    triggers: true,
    about: 'Over IPv6, and a router that says with ICMPv6 that it cannot reach the address of B.',
    make: () => play({ vantages: ['A'] }, (stage) => refused(stage, 6, { type: 1, code: 3 }, 254)),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-mig-req',
    triggers: true,
    about: 'An adapter and software whose MigReq bits differ, and neither answers the other.',
    make: () => play({ vantages: ['A'] }, (stage) => crossedSends(stage, { migReq: 1 }, { migReq: 0 })),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-refused-datagram',
    triggers: true,
    about: 'A single datagram, and "administratively prohibited" from a firewall.',
    make: () => play({ vantages: ['A'] }, refusedDatagram),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-kernel-complains',
    triggers: false,
    about:
      'A stack in user space answers every request, and the kernel beside it, which knows nothing of it, says "port unreachable".',
    make: () => play({ vantages: ['A'] }, kernelComplains),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-other-port-unreachable',
    triggers: false,
    about: 'ICMP "port unreachable" about another UDP service.',
    make: () => play({ vantages: ['A'] }, otherPortUnreachable),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-one-direction',
    triggers: false,
    about: 'Sound traffic of which the capture has one direction only.',
    make: () => play({ vantages: ['A'], keep: ({ direction }) => direction === 'out' }, soundTraffic),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-other-interface',
    triggers: false,
    about: 'Requests on one interface of the capture and answers on another.',
    make: () => play({ vantages: ['A', 'B'], keep: ({ direction }) => direction === 'out' }, soundTraffic),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-capture-ends',
    triggers: false,
    about: 'The capture ends right after the first request.',
    make: () => play({ vantages: ['A'] }, firstRequestOnly),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-answered-in-the-end',
    triggers: false,
    about: 'The answers to the first four tries are lost; the fifth arrives, and all is well.',
    make: () => play({ vantages: ['A'] }, answeredInTheEnd),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-unreliable',
    triggers: false,
    about: 'SENDs of an unreliable connection, which has no responses.',
    make: () => play({ vantages: ['A'] }, unreliable),
  },
  {
    symptom: 'no-reply',
    name: 'no-reply-after-disconnect',
    triggers: false,
    about: 'B continues for a moment after A has disconnected, as programs do that end while something is outstanding.',
    make: () => play({ vantages: ['A'] }, afterDisconnect),
  },
];

type Refusal = Pick<IcmpSpec, 'type' | 'code'>;

/** Four tries, each followed by an ICMP error of station `reporter`. */
async function refused(stage: Stage, ipVersion: 4 | 6, refusal: Refusal, reporter: number): Promise<void> {
  const [from, to] = [station(1, ipVersion), station(2, ipVersion)];
  for (let attempt = 0; attempt < 4; attempt++) {
    const about = sendTo(to, from, attempt);
    stage.forge(about);
    await stage.sleep(20_000);
    stage.forge(icmpError({ ...refusal, from: station(reporter, ipVersion), to: from, about }));
    await stage.sleep(4_194_304);
  }
  await stage.goOn(20e6);
}

async function refusedDatagram(stage: Stage): Promise<void> {
  const [a, b] = [station(1), station(2)];
  const headers = deth(0x11_11_11_11, 0x33);
  const about = roceFrame({ from: a, to: b, opcode: Op.UdSendOnly, destQpn: 0x44, psn: 1, headers });
  await stage.forgeAll([about, icmpError({ from: station(254), to: a, about, type: 3, code: 13, quotedBytes: 28 })]);
}

async function kernelComplains(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(5);
  for (let i = 0; i < 5; i++) {
    demandStatus(await a.send(100), WcStatus.Success);
    const about = sendTo(station(2), station(1), i);
    stage.forge(icmpError({ from: station(2), to: station(1), about, type: 3, code: 3 }));
  }
}

async function otherPortUnreachable(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive();
  const about = sendTo(station(3), station(1), 0);
  new DataView(about.buffer).setUint16(DEST_PORT_AT, 53);
  stage.forge(icmpError({ from: station(3), to: station(1), about, type: 3, code: 3 }));
  demandStatus(await a.send(100), WcStatus.Success);
}

function sendTo(to: Station, from: Station, attempt: number): Uint8Array {
  const ends = { from, to, destQpn: 0x22, psn: 100, ackReq: 1 } as const;
  return roceFrame({ ...ends, opcode: Op.SendOnly, ipId: 60 + attempt, payload: new Uint8Array(64) });
}

async function afterDisconnect(stage: Stage): Promise<void> {
  const { a, b, connection } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true });
  b.receive();
  demandStatus(await a.send(100), WcStatus.Success);
  await connection?.disconnect();
  const ends = { from: station(2), to: station(1), destQpn: a.qpn };
  for (let attempt = 0; attempt < 8; attempt++) {
    await stage.sleep(4_194_304);
    stage.forge(
      roceFrame({ ...ends, opcode: Op.SendOnly, psn: 77, ackReq: 1, ipId: 900 + attempt, payload: new Uint8Array(8) }),
    );
  }
  await stage.goOn(20e6);
}

async function firewall(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const { a: left } = await stage.connect(a, b, { retryCnt: 7, timeout: 8 });
  await stage.forgeAll([
    tcpFrame(station(1), station(2), 40_000, 18_515, TCP_SYN),
    tcpFrame(station(2), station(1), 18_515, 40_000, TCP_SYN | TCP_ACK),
    tcpFrame(station(1), station(2), 40_000, 18_515, TCP_ACK),
  ]);
  stage.rule({ port: 'B', direction: 'receive', match: toRocePort, action: 'drop' });
  demandStatus(await left.send(100), WcStatus.RetryExcErr);
  await stage.goOn(5e6);
}

async function wrongNumber(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const left = stage.end(a);
  await stage.bringUp(left, { qpn: 0x4711, addresses: b.addresses }, { ipVersion: 6, retryCnt: 3, timeout: 9 });
  demandStatus(await left.write(stage.end(b), 5_000), WcStatus.RetryExcErr);
  await stage.goOn(20e6);
}

async function threePairs(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const pairs = await Promise.all([1, 2, 3].map(() => stage.connect(a, b, { retryCnt: 1, timeout: 8 })));
  stage.rule({ port: 'A', match: toRocePort, action: 'drop' });
  await Promise.all(pairs.map(({ a: left }) => left.send(64)));
  await stage.goOn(20e6);
}

async function soundTraffic(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive(5);
  for (const length of [10, 5_000, 0]) demandStatus(await a.send(length), WcStatus.Success);
  demandStatus(await a.write(b, 10_000), WcStatus.Success);
  await stage.sleep(20e6);
  demandStatus(await a.read(b, 10_000), WcStatus.Success);
}

async function firstRequestOnly(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
  b.receive();
  stage.rule({ port: 'B', direction: 'receive', match: toRocePort, action: 'drop' });
  void a.send(100);
  await stage.sleep(10_000);
}

async function answeredInTheEnd(stage: Stage): Promise<void> {
  const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 8 });
  b.receive(4);
  const lost = stage.rule({ port: 'B', match: toRocePort, action: 'drop' });
  const first = a.send(100);
  await stage.sleep(3_200_000);
  lost.end();
  demandStatus(await first, WcStatus.Success);
  for (let i = 0; i < 3; i++) demandStatus(await a.send(100), WcStatus.Success);
}

async function unreliable(stage: Stage): Promise<void> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const left = stage.end(a);
  const qp = left.pd.createQp({ sendCq: left.sendCq, recvCq: left.recvCq, type: QpType.Uc });
  const [destination] = b.addresses;
  if (destination === undefined) return;
  await qp.modify({ state: QpState.Init, access: 0 });
  await qp.modify({ state: QpState.Rtr, av: { destination }, destQpn: 0x77, rqPsn: 1, mtu: 1024 });
  await qp.modify({ state: QpState.Rts, sqPsn: 5 });
  for (let i = 0; i < 10; i++) {
    qp.postSend({ wrId: i, opcode: WrOpcode.Send, sges: [{ mr: left.mr, length: 3_000 }] });
    await stage.sleep(5e6);
  }
}

function toRocePort({ destPort }: Frame): boolean {
  return destPort === ROCE_UDP_PORT;
}

function isRoce({ bytes }: StageFrame): boolean {
  return bytes.length > 42 && new DataView(bytes.buffer, bytes.byteOffset).getUint16(DEST_PORT_AT) === ROCE_UDP_PORT;
}

/** In an untagged IPv4 frame. */
const DEST_PORT_AT = 36;
const TCP_SYN = 0x02;
const TCP_ACK = 0x10;
