/**
 * Goal: marks are right for conversations that go wrong by chance, and the price of the script is known. Method: for
 * many seeds a wire that loses, doubles, delays and damages; what every packet is, is known from both ends: the IPv4
 * identification, which our sender never uses twice in a run so short, tells whether what arrives is what was sent
 * first. The price is printed, not judged.
 */
import { spawnSync } from 'node:child_process';
import { afterAll, expect, it } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../packets/frame.ts';
import { icrcMatches } from '../../../packets/icrc.ts';
import { IPV4_ID_AT } from '../../../packets/ipv4.ts';
import { OpFlag } from '../../../packets/opcode.ts';
import type { CapturedPacket } from '../../../pcap/types.ts';
import { play } from '../../../tools/symptoms/scene.ts';
import { describeWith } from '../../support/need.ts';
import { packetsOf, Scratch } from '../verify/made-capture.ts';
import { LUA_SCRIPT, luaRows } from './lua.ts';

const SEEDS = 20;
const [A, B] = [0, 1];

/** What must be marked on requests of A: at A what it sends again, at B what came before, came late or left a gap. */
function requestMarks(packets: readonly CapturedPacket[]): Map<number, string> {
  const frame = new Frame();
  /** By PSN, the identification with which it was sent first. */
  const sent = new Map<number, number>();
  const seen = new Set<number>();
  let highest = -1;
  const marks = new Map<number, string>();
  for (const { bytes, number, interfaceIndex } of packets) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const status = parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame);
    if (status !== FrameStatus.Ok || !icrcMatches(frame) || (frame.flags & OpFlag.Write) === 0) continue;
    const { psn } = frame;
    const id = view.getUint16(frame.ipOffset + IPV4_ID_AT);
    if (interfaceIndex === A) {
      if (sent.has(psn)) marks.set(number, 'retransmission');
      else sent.set(psn, id);
    } else if (interfaceIndex === B) {
      if (seen.has(psn)) marks.set(number, 'retransmission');
      else if (psn < highest) marks.set(number, id === sent.get(psn) ? 'out_of_order' : 'retransmission');
      else if (highest >= 0 && psn > highest + 1) marks.set(number, 'lost_segment');
      seen.add(psn);
      highest = Math.max(highest, psn);
    }
  }
  return marks;
}

describeWith('tshark-lua', 'marks, by chance', () => {
  const scratch = new Scratch();
  afterAll(() => scratch.remove());

  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('are what happened, seed %i', async (seed) => {
    const capture = await play({ seed, vantages: ['A', 'B'] }, async (stage) => {
      const { a, b } = await stage.connect(stage.host('A'), stage.host('B'), { timeout: 10 });
      // Both ways: acknowledges are lost as well.
      const faults = { loss: 0.02, duplicate: 0.02, reorder: 0.03, reorderDelayNs: 4_000, corrupt: 0.01 };
      for (const host of [a.host, b.host]) stage.faults(host, faults);
      for (let i = 0; i < 8; i++) await a.write(b, 25_000);
    });
    const file = scratch.file(`seed${seed}.pcapng`, capture);
    const wanted = requestMarks(packetsOf(capture));
    const rows = await luaRows(file, ['frame.number', 'rocev2.analysis'], {
      filter: 'infiniband.reth || rocev2.analysis',
    });
    const marked = new Map(
      rows.flatMap(([number, names = []]) => (names.length > 0 ? [[Number(number?.[0]), names.join()]] : [])),
    );
    const responses = /nak|ack/;
    const requests = new Map([...marked].filter(([, names]) => !responses.test(names)));
    expect(Object.fromEntries(requests)).toEqual(Object.fromEntries(wanted));
    expect(wanted.size).toBeGreaterThan(0);
  });

  it('cost what is printed here', async () => {
    const capture = await bigCapture();
    const path = scratch.file('cost.pcapng', capture);
    const frames = packetsOf(capture).length;
    expect(frames).toBeGreaterThan(20_000);
    const seconds = (more: readonly string[]): number => {
      const start = process.hrtime.bigint();
      const { status } = spawnSync('tshark', ['-n', ...more, '-r', path, '-T', 'fields', '-e', 'infiniband.bth.psn'], {
        stdio: 'ignore',
      });
      expect(status).toBe(0);
      return Number(process.hrtime.bigint() - start) / 1e9;
    };
    const script = ['-X', `lua_script:${LUA_SCRIPT}`];
    const [without, all, marks] = [seconds([]), seconds(script), seconds([...script, '-o', 'rocev2.icrc:FALSE'])];
    console.info(
      `tshark, ${frames} frames: ${without.toFixed(2)} s; with the script ${all.toFixed(2)} s (${(all / without).toFixed(1)}x), without its ICRC ${marks.toFixed(2)} s (${(marks / without).toFixed(1)}x)`,
    );
  });
});

/** More than 20,000 frames of WRITEs. */
function bigCapture(): Promise<Uint8Array> {
  return play({ vantages: ['A'] }, async (stage) => {
    const { a, b } = await stage.connect(stage.host('A'), stage.host('B'));
    for (let i = 0; i < 330; i++) await a.write(b, 64_000);
  });
}
