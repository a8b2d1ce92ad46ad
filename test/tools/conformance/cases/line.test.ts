/**
 * Goal: a stimulus that a device takes although it must not is told, whatever it was and whether it asked for an ACK;
 * and the edits of frames are what they say. Method: correct requests given for stimuli to be ignored, against a device
 * of ours in virtual time.
 */
import { describe, expect, it } from 'vitest';
import { Frame, FrameStatus, Medium, parseFrame } from '../../../../packets/frame.ts';
import { icrcMatches } from '../../../../packets/icrc.ts';
import { type Packet, pattern, readRequest, sendOnly } from '../../../../packets/kit/packet.ts';
import { cutTo, flip, withTrailer, withUdpChecksum } from '../../../../tools/conformance/cases/edits.ts';
import { type MakePacket, RequestSequence } from '../../../../tools/conformance/cases/line.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import type { Tester } from '../../../../tools/conformance/tester/tester.ts';

async function ending(run: (t: Tester) => Promise<void>): Promise<string> {
  const dut = new InProcessDut({ seed: 5 });
  const { verdict, reason } = await runCase(dut, { rules: ['PKT-01'], run }, { seed: 5 });
  await dut.close();
  return `${verdict} ${reason}`.trim();
}

describe('stimuli that must be ignored', () => {
  const good: readonly [string, (line: RequestSequence) => MakePacket][] = [
    ['a WRITE', (line) => line.write(pattern(8))],
    ['a WRITE that asks for nothing', (line) => line.write(pattern(8), { ackReq: false })],
    ['a SEND', () => (psn) => sendOnly({ psn, payload: pattern(8), ackReq: true })],
    ['a SEND that asks for nothing', () => (psn) => sendOnly({ psn, payload: pattern(8) })],
    ['a READ', (line) => (psn) => readRequest({ psn, reth: line.reth(8) })],
  ];

  it.each(good)('are told when they are taken: %s', async (_, make) => {
    const end = await ending(async (t) => {
      const line = await RequestSequence.open(t);
      const wrong: MakePacket = (psn) => ({ ...line.write(pattern(8))(psn), pkey: 0x12_34 });
      await line.ignores([wrong, make(line)]);
    });
    expect(end).toMatch(/^fail after WRITE Only psn\+0 .* P_Key 0x1234, /);
  });

  it('pass when they are ignored, one by one or in rows, and count as nothing', async () => {
    const end = await ending(async (t) => {
      const line = await RequestSequence.open(t);
      const wrong: MakePacket = (psn) => ({ ...line.write(pattern(8))(psn), tver: 3 });
      await line.ignores(Array.from({ length: 40 }, () => wrong));
      await line.accepts(line.write(pattern(8)));
      expect([line.psn, line.msn]).toEqual([4, 4]);
    });
    expect(end).toBe('pass');
  });
});

describe('edits of frames', () => {
  /** What the parser makes of a WRITE of five bytes that was changed so. */
  async function parsed(more: Partial<Packet>, version: 4 | 6): Promise<{ status: FrameStatus; frame: Frame }> {
    const frame = new Frame();
    let status: FrameStatus = FrameStatus.Truncated;
    await ending(async (t) => {
      const line = await RequestSequence.open(t, { version });
      const bytes = line.peer.frame({ ...line.write(pattern(5))(0), ...more });
      status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
    });
    return { status, frame };
  }

  it.each([4, 6] as const)('leave whole what they do not touch, over IPv%i', async (version) => {
    for (const more of [{ spoil: withUdpChecksum }, { spoil: withTrailer(9) }]) {
      const { status, frame } = await parsed(more, version);
      expect([status, icrcMatches(frame)]).toEqual([FrameStatus.Ok, true]);
    }
  });

  it.each([4, 6] as const)('break nothing but the ICRC with a bit, over IPv%i', async (version) => {
    const { status, frame } = await parsed({ spoil: flip(({ ip }) => ip + (version === 4 ? 5 : 8), 3) }, version);
    expect([status, icrcMatches(frame)]).toEqual([FrameStatus.Ok, false]);
  });

  it.each([4, 6] as const)('cut a packet so that its lengths agree, over IPv%i', async (version) => {
    expect((await parsed({ edit: cutTo(24) }, version)).status).toBe(FrameStatus.BadHeaderLength);
    const { status, frame } = await parsed({ edit: cutTo(36) }, version);
    expect([status, icrcMatches(frame), frame.payloadLength]).toEqual([FrameStatus.Ok, true, 1]);
  });
});
