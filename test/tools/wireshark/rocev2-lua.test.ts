/**
 * Goal: the post-dissector says of every packet what this project says, and marks exactly what was done to a
 * conversation. Method: tshark with the script, on frames of every kind, on damaged ones, on captures of rdma_rxe, and
 * on conversations of the real stack on a wire that loses, delays, doubles and damages the frames that a rule names,
 * seen from both ends.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { computeIcrc } from '../../../packets/icrc.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import { IcrcState } from '../../../pcap/dissection.ts';
import { LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { Prng } from '../../../src/ground/prng.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import type { ConnectOptions, Stage } from '../../../tools/symptoms/stage.ts';
import { FrameDescriber } from '../../../tools/verify/index.ts';
import { describeWith } from '../../support/need.ts';
import { everyFrame } from '../verify/every-frame.ts';
import { captureOf, damaged, packetsOf, Scratch } from '../verify/made-capture.ts';
import { luaRows } from './lua.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
const STATUS = new Map<number, string>([
  [IcrcState.Good, 'good'],
  [IcrcState.Bad, 'bad'],
  [IcrcState.RxeFlush, 'rxe'],
]);
const FIELDS = [
  'icrc.status',
  'icrc.calculated',
  'opcode.name',
  'fecn',
  'becn',
  'xrcsrq',
  'flush.placement',
  'flush.selectivity',
];

/** What the script should say of each packet of a capture in FIELDS; undefined where a packet is not whole. */
function ours(capture: Uint8Array): (string[] | undefined)[] {
  const describer = new FrameDescriber();
  return packetsOf(capture).map((packet) => {
    const { fields, frame, icrc } = describer.describe(packet);
    const status = STATUS.get(icrc);
    if (status === undefined) return undefined;
    const { bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset } = frame;
    const little = computeIcrc(bytes, view, ipOffset, ipVersion, bthOffset, icrcOffset);
    const swapped = new DataView(new ArrayBuffer(4));
    swapped.setUint32(0, little, true);
    const calculated = `0x${swapped.getUint32(0).toString(16).padStart(8, '0')}`;
    const value = (name: string) => (fields[name] === undefined ? '' : `${fields[name]}`);
    const [fecn, becn, srq] = [value('roce.bth.fecn'), value('roce.bth.becn'), fields['roce.xrceth.xrcsrq']];
    const hexSrq = srq === undefined ? '' : `0x${srq.toString(16).padStart(8, '0')}`;
    const placement = fields['roce.feth.placement'];
    const hexPlacement = placement === undefined ? '' : `0x${placement.toString(16).padStart(2, '0')}`;
    return [
      status,
      calculated,
      value('roce.opcode.name'),
      fecn,
      becn,
      hexSrq,
      hexPlacement,
      value('roce.feth.selectivity'),
    ];
  });
}

async function theirs(file: string, twoPass = false): Promise<string[][]> {
  const rows = await luaRows(
    file,
    FIELDS.map((field) => `rocev2.${field}`),
    { twoPass },
  );
  return rows.map((row) => row.map((values) => values.join(' ')));
}

describeWith('tshark-lua', 'the post-dissector', () => {
  const scratch = new Scratch();
  afterAll(() => scratch.remove());

  it('names, verifies and decodes every kind of frame as we do', async () => {
    const capture = captureOf(everyFrame(30));
    const file = scratch.file('every.pcapng', capture);
    const wanted = ours(capture).map((fields) => fields ?? FIELDS.map(() => ''));
    const seen = await theirs(file);
    expect(seen).toEqual(wanted);
    expect(new Set(seen.map(([status]) => status))).toEqual(new Set(['good', 'rxe', '']));
    expect(new Set(seen.map((row) => row[2])).size).toBeGreaterThan(80);
  });

  it('calls bad exactly what is damaged, whatever the damage', async () => {
    const capture = captureOf(damaged(everyFrame(31), new Prng(31)));
    const wanted = ours(capture);
    const seen = await theirs(scratch.file('damaged.pcapng', capture));
    const wrong = seen.flatMap((row, i) =>
      wanted[i] !== undefined && `${row}` !== `${wanted[i]}` ? [[i, row, wanted[i]]] : [],
    );
    expect(wrong).toEqual([]);
    expect(seen.filter(([status]) => status === 'bad').length).toBeGreaterThan(600);
    // Masked fields may change on the way: bits in them damage nothing.
    expect(seen.filter(([status]) => status === 'good').length).toBeGreaterThan(20);
  });

  it('finds every ICRC of rdma_rxe right, and nothing to mark', async () => {
    const rows = await luaRows(SAMPLE, ['rocev2.icrc.status', 'rocev2.opcode.name']);
    const wanted = ours(new Uint8Array(readFileSync(SAMPLE)));
    expect(rows.map(([status]) => status?.[0])).toEqual(wanted.map((fields) => fields?.[0]));
    expect(wanted.filter((fields) => fields !== undefined).length).toBeGreaterThan(20);
  });

  it('says nothing of an ICRC when told not to look', async () => {
    const rows = await luaRows(SAMPLE, ['rocev2.icrc.status'], { preferences: ['rocev2.icrc:FALSE'] });
    expect(rows.flat(2)).toEqual([]);
  });
});

type Script = (stage: Stage) => Promise<void>;

const middle = ({ flags }: { readonly flags: number }) => (flags & OpFlag.Middle) !== 0;
const readResponse = ({ flags }: { readonly flags: number }) => (flags & OpFlag.ReadResponse) !== 0;

/** Both ends of a connection, seen from both; PSNs of A begin with 100. */
const pairOf = (stage: Stage, options: ConnectOptions = {}) =>
  stage.connect(stage.host('A'), stage.host('B'), { psns: [100, 200], timeout: 12, ...options });

const lostOver =
  (ipVersion: 4 | 6): Script =>
  async (stage) => {
    const { a, b } = await pairOf(stage, { ipVersion });
    stage.rule({ port: 'A', match: middle, nth: 3, action: 'drop' });
    await a.write(b, 20_000);
  };

const SCENES: Readonly<Record<string, Script>> = {
  clean: async (stage) => {
    const { a, b } = await pairOf(stage, { psns: [0xff_ff_f0, 0xff_ff_fe] });
    a.receive(8);
    b.receive(8);
    for (let i = 0; i < 4; i++) {
      await a.write(b, 20_000);
      await b.send(5_000);
      await a.read(b, 9_000);
      await a.fetchAdd(b);
    }
  },
  lost4: lostOver(4),
  lost6: lostOver(6),
  overtaken: async (stage) => {
    const { a, b } = await pairOf(stage);
    stage.rule({ port: 'A', match: middle, nth: 5, action: 'delay', delayNs: 5_000 });
    await a.write(b, 20_000);
  },
  damaged: async (stage) => {
    const { a, b } = await pairOf(stage);
    stage.rule({ port: 'A', match: middle, nth: 7, action: 'corrupt' });
    await a.write(b, 20_000);
  },
  twice: async (stage) => {
    const { a, b } = await pairOf(stage);
    b.receive(4);
    stage.rule({ port: 'A', match: ({ bthOffset }) => bthOffset >= 0, nth: 2, action: 'duplicate', delayNs: 100 });
    for (let i = 0; i < 3; i++) await a.send(500);
  },
  notReady: async (stage) => {
    const { a, b } = await pairOf(stage);
    const sent = a.send(500);
    await stage.sleep(100_000);
    b.receive(1);
    await sent;
  },
  lostResponse: async (stage) => {
    const { a, b } = await pairOf(stage);
    stage.rule({ port: 'B', match: readResponse, nth: 4, action: 'drop' });
    await a.read(b, 20_000);
  },
  lostFirst: async (stage) => {
    const hosts = [stage.host('A'), stage.host('B')] as const;
    stage.rule({ port: 'A', match: ({ flags }) => (flags & OpFlag.Write) !== 0, nth: 1, action: 'drop' });
    const { a, b } = await stage.connect(...hosts, { cm: true, timeout: 12 });
    await a.write(b, 3_000);
  },
  twoPairs: async (stage) => {
    const [left, right] = [stage.host('A'), stage.host('B')];
    const pairs = [await stage.connect(left, right), await stage.connect(left, right, { psns: [5000, 6000] })];
    for (const { a, b } of pairs) {
      b.receive(2);
      await a.send(500);
      await a.write(b, 3_000);
    }
  },
};

/** All scenes one after the other in one file, each with interfaces of its own: `name/vantage`. */
async function captureOfScenes(): Promise<Uint8Array> {
  const writer = new PcapngWriter({ application: 'rocev2, scenes' });
  for (const [name, script] of Object.entries(SCENES)) {
    const interfaces = ['A', 'B'].map((vantage) =>
      writer.addInterface({ name: `${name}/${vantage}`, linkType: LinkType.Ethernet }),
    );
    for (const { bytes, seconds, nanoseconds, interfaceIndex } of packetsOf(
      await play({ vantages: ['A', 'B'] }, script),
    )) {
      writer.packet(interfaces[interfaceIndex] ?? 0, bytes, 0, bytes.length, seconds, nanoseconds);
    }
  }
  return writer.take();
}

describeWith('tshark-lua', 'marks', () => {
  const scratch = new Scratch();
  afterAll(() => scratch.remove());
  let once: string[][][];
  let file = '';

  beforeAll(async () => {
    file = scratch.file('scenes.pcapng', await captureOfScenes());
    once = await luaRows(file, SHOWN);
  });

  /** PSNs of the packets with a mark, at one end of a scene. */
  const at = (where: string, mark: string): number[] =>
    once.flatMap(([place = [], psn = [], names = []]) =>
      place[0] === where && names.includes(mark) ? [Number(psn[0])] : [],
    );
  const marksOf = (scene: string): string[] =>
    once.flatMap(([place = [], , names = []]) => (place[0]?.startsWith(`${scene}/`) ? names : []));

  it('are the same when a file is read twice, as the graphical program does', async () => {
    expect(await luaRows(file, SHOWN, { twoPass: true })).toEqual(once);
    expect(once.length).toBeGreaterThan(500);
  });

  it('are none on a clean wire, whatever is done', () => {
    expect(marksOf('clean')).toEqual([]);
    expect(marksOf('twoPairs')).toEqual([]);
  });

  it.each(['lost4', 'lost6'])('of a lost packet (%s): a gap and its NAK, and everything from there again', (scene) => {
    // PSN 100 is First, 103 the third Middle.
    expect(at(`${scene}/B`, 'lost_segment')).toEqual([104]);
    expect(at(`${scene}/A`, 'lost_segment')).toEqual([]);
    expect(at(`${scene}/B`, 'nak')).toEqual([103]);
    expect(at(`${scene}/A`, 'nak')).toEqual([103]);
    const again = at(`${scene}/A`, 'retransmission');
    expect(again[0]).toBe(103);
    expect(again).toEqual(again.map((_, i) => 103 + i));
    expect(at(`${scene}/B`, 'retransmission')).toEqual(again);
    expect(marksOf(scene)).not.toContain('out_of_order');
  });

  it('of a packet that takes a longer way: out of order, told from what was sent again in its place', () => {
    expect(at('overtaken/B', 'lost_segment')).toEqual([106]);
    expect(at('overtaken/B', 'out_of_order')).toEqual([105]);
    expect(at('overtaken/A', 'out_of_order')).toEqual([]);
    expect(at('overtaken/B', 'retransmission')).toEqual(at('overtaken/A', 'retransmission'));
  });

  it('of a damaged packet are those of a lost one: a receiver has not seen it', () => {
    expect(at('damaged/B', 'lost_segment')).toEqual([108]);
    expect(at('damaged/B', 'nak')).toEqual([107]);
    expect(at('damaged/B', 'retransmission')[0]).toBe(107);
  });

  it('of a packet that comes twice, and of the acknowledge that says nothing new', () => {
    expect(at('twice/B', 'retransmission')).toEqual([101]);
    expect(at('twice/B', 'duplicate_ack')).toEqual([101]);
    expect(at('twice/A', 'duplicate_ack')).toEqual([101]);
    expect(at('twice/A', 'retransmission')).toEqual([]);
  });

  it('of a receiver that is not ready: a refusal and a repetition each time', () => {
    const refused = at('notReady/A', 'rnr_nak');
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused)).toEqual(new Set([100]));
    expect(at('notReady/A', 'retransmission')).toEqual(refused);
    expect(marksOf('notReady')).not.toContain('nak');
  });

  it('of READ responses that are lost: the gap, and the READ that asks again', () => {
    // The READ is PSN 100, and its fourth response 103.
    expect(at('lostResponse/A', 'lost_segment')).toEqual([104]);
    expect(at('lostResponse/A', 'implied_nak')).toEqual([103]);
    expect(at('lostResponse/B', 'implied_nak')).toEqual([]);
    expect(at('lostResponse/A', 'retransmission')[0]).toBe(103);
    expect(marksOf('lostResponse')).not.toContain('nak');
  });

  it('follow a connection from its CM messages on: that the first packet is lost shows', () => {
    expect(at('lostFirst/B', 'lost_segment')).toHaveLength(1);
    expect(at('lostFirst/B', 'nak')).toHaveLength(1);
    expect(at('lostFirst/A', 'lost_segment')).toEqual([]);
  });

  it('pair streams: each direction knows the other, and every queue pair has a number of its own', () => {
    const rows = once.filter(([place]) => place?.[0] === 'twoPairs/A').map((row) => row.slice(3).map(String));
    const streams = new Map(rows.filter(([, stream]) => stream !== '').map(([qpn, stream]) => [stream, qpn]));
    expect(streams.size).toBe(4);
    expect(new Set(streams.values()).size).toBe(4);
    const reverses = new Map(
      rows.filter(([, , reverse]) => reverse !== '').map(([, stream, reverse]) => [stream, reverse]),
    );
    expect(reverses.size).toBe(4);
    for (const [stream, reverse] of reverses) expect(reverses.get(reverse)).toBe(stream);
  });

  it('are filters, and are in the Info column', async () => {
    const rows = await luaRows(file, ['rocev2.analysis', '_ws.col.Info'], { filter: 'rocev2.analysis.implied_nak' });
    expect(rows).toHaveLength(1);
    expect(`${rows[0]?.[1]}`).toContain('[Implied NAK: the responses from PSN 103 on again, ');
  });
});

const SHOWN = [
  ...['frame.interface_name', 'infiniband.bth.psn', 'rocev2.analysis'],
  ...['infiniband.bth.destqp', 'rocev2.stream', 'rocev2.stream.reverse'],
];
