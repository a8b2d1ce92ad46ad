/**
 * Goal: each operation puts the packets on the wire that it should, and readers that know nothing of this project read
 * them as we do. Method: two devices in a simulated world do every operation once, over IPv4 and IPv6, into one capture
 * each; a table says which packets each is. tshark 4.0 and scapy's RoCE layer read the captures; what neither knows
 * (the inside of FLUSH, ATOMIC WRITE, XRC and of five messages of the connection manager) is compared with bytes put
 * together by hand. The captures stay in interop-out/operations.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { readAeth } from '../../packets/aeth.ts';
import { BTH_BYTES, readBth } from '../../packets/bth.ts';
import { FrameStatus } from '../../packets/frame.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { OPCODE_FLAGS, OpFlag, opcodeInfo, Service } from '../../packets/opcode.ts';
import { analyzeCapture, judgeFindings } from '../../tools/experiment/findings.ts';
import { tsharkAvailable } from '../../tools/tshark.ts';
import {
  allTsharkFrames,
  colonHex,
  type TsharkFrame,
  type VerifySummary,
  verifyFile,
} from '../../tools/verify/index.ts';
import { describeWith } from '../support/need.ts';
import { decodeFrame, reencodeFrame } from './frame-decoder.ts';
import { type CapturedFrame, captureAll, describePacket, type OperationsCapture } from './operations/capture.ts';
import { OPERATIONS } from './operations/index.ts';
import { hexOf } from './operations/operation.ts';
import { type TsharkWords, wordsOfTshark } from './operations/tshark-words.ts';
import { builtByScapy, readByScapy, type ScapyPacket } from './scapy.ts';

const OUT = fileURLToPath(new URL('../../interop-out/operations/', import.meta.url));
const NAMES = OPERATIONS.map(({ name }) => name);
/** Scenes in which a request is refused for good, in their order. */
const REFUSALS = ['remote-invalid-request', 'remote-access-error', 'remote-operational-error', 'connection-refused'];
const MAC_OF_A = '02:00:00:00:00:0a';

/** Makes the capture of all operations, once for both readers. */
async function capture(version: 4 | 6): Promise<OperationsCapture & { readonly file: string }> {
  const captured = await captureAll(version, OPERATIONS);
  const file = join(OUT, `ipv${version}.pcapng`);
  mkdirSync(OUT, { recursive: true });
  writeFileSync(file, captured.pcapng);
  return { ...captured, file };
}

const captures = { 4: capture(4), 6: capture(6) };

const behindBth = ({ bytes, frame }: CapturedFrame): string =>
  hexOf(bytes.subarray(frame.bthOffset + BTH_BYTES, frame.icrcOffset));

describe.each([4, 6] as const)('each operation over IPv%i', (version) => {
  let made: OperationsCapture;
  beforeAll(async () => {
    made = await captures[version];
  });

  it.each(NAMES.map((name, i) => [name, i] as const))('%s is the packets that the table says', (_, i) => {
    const { operation, frames, golden } = made.scenes[i] ?? {};
    expect(frames?.map(describePacket)).toEqual(operation?.packets);
    for (const [at, expected] of golden?.entries() ?? []) {
      const sent = frames?.[at];
      if (expected === undefined) continue;
      const bytes = hexOf(sent?.bytes.subarray(sent.frame.bthOffset, sent.frame.icrcOffset) ?? new Uint8Array(0));
      expect(bytes.slice(-expected.length), `packet ${at}`).toBe(expected);
    }
  });

  it('is no cause for alarm to the analyzer but for what one end refuses', async () => {
    const { alarms, faults } = judgeFindings(analyzeCapture((await captures[version]).file), { findings: REFUSALS });
    expect(faults).toEqual([]);
    expect(alarms).toEqual(REFUSALS.map((id) => `error ${id}`));
  });

  it('has bytes put together by hand for every request and message that no reader reads whole', () => {
    const bare = made.scenes.flatMap(({ operation, frames, golden }) =>
      frames
        .filter(({ frame }) => (OPCODE_FLAGS[frame.opcode] ?? 0) & OpFlag.Request)
        .filter((frame) => isBlind(frame) || UNREAD_MESSAGES.test(describePacket(frame) ?? ''))
        .filter((frame) => golden?.[frames.indexOf(frame)] === undefined)
        .map((frame) => `${operation.name}: ${describePacket(frame)}`),
    );
    expect(bare).toEqual([]);
  });

  it('shows every opcode that a queue pair of ours can send', () => {
    const sent = new Set(
      made.frames.filter(({ status }) => status === FrameStatus.Ok).map(({ frame }) => frame.opcode),
    );
    const speaks: readonly number[] = [Service.Rc, Service.Uc, Service.Ud, Service.Xrc];
    const missing = Array.from(OPCODE_FLAGS.keys())
      .filter((opcode) => (OPCODE_FLAGS[opcode] ?? 0) !== 0 && speaks.includes(opcode & 0xe0) && !sent.has(opcode))
      .map((opcode) => opcodeInfo(opcode).name);
    expect(missing).toEqual([]);
  });

  it('has a right ICRC in every RoCE packet', () => {
    const wrong = made.frames.filter(({ frame, status }) => status === FrameStatus.Ok && !icrcMatches(frame));
    expect(wrong.map(({ number }) => number)).toEqual([]);
  });
});

describeWith('tshark', 'read by tshark', () => {
  describe.each([4, 6] as const)('each operation over IPv%i', (version) => {
    let made: OperationsCapture;
    let words: TsharkWords[];
    let fields: TsharkFrame[];
    let verified: VerifySummary;
    const unexpected: unknown[] = [];
    beforeAll(async () => {
      const captured = await captures[version];
      made = captured;
      const { file } = captured;
      const options = { version: tsharkAvailable().version };
      verified = await verifyFile(file, {
        ...options,
        onDifference: (difference) => difference.expectation ?? unexpected.push(difference),
      });
      [words, fields] = await Promise.all([wordsOfTshark(file, MAC_OF_A), allTsharkFrames(file)]);
    });

    it('is as many frames, none of them malformed', () => {
      expect([words.length, fields.length]).toEqual([made.frames.length, made.frames.length]);
      expect(words.flatMap(({ malformed }, i) => (malformed ? [i + 1] : []))).toEqual([]);
    });

    it.each(NAMES.map((name, i) => [name, i] as const))('%s is the same packets', (_, i) => {
      const { operation, frames = [] } = made.scenes[i] ?? {};
      const seen = frames.map(({ number }) => words[number - 1]?.line);
      expect(seen).toEqual(operation?.packets.map(asTsharkSays));
    });

    it('has the field values that we read, no fewer and no more, what tshark is blind to apart', () => {
      expect(unexpected).toEqual([]);
      expect(verified).toMatchObject({ frames: made.frames.length, unexpected: 0 });
      expect([...verified.expected.keys()].filter((id) => !BLIND_TO.test(id))).toEqual([]);
      expect([...verified.names]).toEqual(expect.arrayContaining(MUST_BE_COMPARED));
    });

    it('has the data of the management datagrams that tshark does not read', () => {
      const unread = made.frames.filter((captured) => UNREAD_MESSAGES.test(describePacket(captured) ?? ''));
      expect(unread).toHaveLength(7);
      for (const { bytes, frame, number } of unread) {
        const data = bytes.subarray(frame.payloadOffset + MAD_HEADER_BYTES, frame.icrcOffset);
        expect(fields[number - 1]?.['infiniband.smplid.smpdata'], `frame ${number}`).toBe(colonHex(data));
      }
    });
  });
});

describeWith('scapy', 'read and built by scapy', () => {
  describe.each([4, 6] as const)('each operation over IPv%i', (version) => {
    let packets: CapturedFrame[];
    let theirs: ScapyPacket[];
    beforeAll(async () => {
      const { file, frames } = await captures[version];
      packets = frames.filter(({ status }) => status === FrameStatus.Ok);
      theirs = readByScapy(file);
    });

    it('is the same RoCE packets', () => {
      expect(theirs.map(({ number }) => number)).toEqual(packets.map(({ number }) => number));
    });

    it('has the BTH that we read, and the same bytes behind it', () => {
      for (const [i, packet] of packets.entries()) {
        expect(theirs[i]?.bth, `frame ${packet.number}`).toEqual(bthAsScapyNames(packet));
        expect(theirs[i]?.behindBth, `frame ${packet.number}`).toBe(behindBth(packet));
      }
    });

    it('has the names of opcodes that scapy knows', () => {
      const pairs = packets.map(({ frame }, i) => `${opcodeInfo(frame.opcode).name} is ${theirs[i]?.name}`);
      const expected = packets.map(({ frame: { opcode } }) => `${opcodeInfo(opcode).name} is ${scapyName(opcode)}`);
      expect([...new Set(pairs)]).toEqual([...new Set(expected)]);
    });

    it('has the AETH that we read, in the one opcode in which scapy looks for one', () => {
      for (const [i, { frame, number }] of packets.entries()) {
        const aeth = frame.opcode === ACKNOWLEDGE ? readAeth(frame.view, frame.bthOffset + BTH_BYTES) : null;
        expect(theirs[i]?.aeth, `frame ${number}`).toEqual(aeth);
      }
      expect(theirs.filter(({ aeth }) => aeth !== null).length).toBeGreaterThan(20);
    });

    // scapy 2.5 computes no ICRC over IPv6: it warns and says zero, and so would send one.
    it(
      version === 4 ? 'has the ICRC that scapy computes' : 'gets an ICRC of zero from scapy, which cannot do IPv6',
      () => {
        for (const [i, { bytes, frame, number }] of packets.entries()) {
          const icrc = hexOf(bytes.subarray(frame.icrcOffset, frame.icrcOffset + 4));
          expect([theirs[i]?.icrc, theirs[i]?.computedIcrc], `frame ${number}`).toEqual([
            icrc,
            version === 4 ? icrc : '00000000',
          ]);
        }
      },
    );
  });

  it('what scapy builds is read by us, with a right ICRC, and written again to the same bytes', () => {
    const read = [...builtByScapy()].map(([name, bytes]) => {
      const decoded = decodeFrame(bytes);
      const { frame, status } = decoded;
      expect([name, status, icrcMatches(frame)]).toEqual([name, FrameStatus.Ok, true]);
      // Our writers do not write congestion notifications.
      if (frame.opcode !== 0x81) expect(hexOf(reencodeFrame(decoded)), name).toBe(hexOf(bytes));
      const { destQpn, psn, padCount, payloadLength, becn } = frame;
      return [name, opcodeInfo(frame.opcode).name, destQpn, psn, padCount, payloadLength, becn];
    });
    expect(read).toEqual([
      ['a congestion notification', 'CNP', 0x123456, 0, 0, 0, 1],
      ['an ACK', 'RC Acknowledge', 0x11, 5, 0, 0, 0],
      ['a SEND', 'UC SEND Only', 0x22, 0xff_ff_ff, 1, 3, 0],
    ]);
  });
});

/**
 * Opcodes of which tshark 4.0 reads the BTH only: all of XRC, which it has names for, and FLUSH and ATOMIC WRITE, which
 * it has not.
 */
function isBlind({ frame, status }: CapturedFrame): boolean {
  return status === FrameStatus.Ok && (frame.opcode >= Service.Xrc || NAMELESS.has(opcodeInfo(frame.opcode).name));
}

/** A line of the table in tshark's words: what it is blind to is left out. */
function asTsharkSays(line: string): string {
  const [way, words] = [line.slice(0, 2), line.slice(2)];
  if (NAMELESS.has(words)) return `${way}Unknown`;
  return words.startsWith('XRC') ? line.replace(/, immediate .*/, '') : line;
}

function bthAsScapyNames({ frame }: CapturedFrame): Record<string, number> {
  const { opcode, solicited, migReq, padCount, transportVersion, pkey, fecn, becn, destQpn, ackReq, psn } = readBth(
    frame.view,
    frame.bthOffset,
  );
  const flags = { solicited, migreq: migReq, fecn, becn, ackreq: ackReq, resv6: 0, resv7: 0 };
  return { opcode, ...flags, padcount: padCount, version: transportVersion, pkey, dqpn: destQpn, psn };
}

/** scapy 2.5 has neither SEND with invalidate nor anything above, nor XRC: there its name is the number. */
function scapyName(opcode: number): string {
  if (opcode >= Service.Xrc || (opcode & 0x1f) > 0x14) return `${opcode}`;
  const name = opcodeInfo(opcode).name.toUpperCase().replaceAll(' ', '_');
  return name.replace('CMPSWAP', 'COMPARE_SWAP').replace('FETCHADD', 'FETCH_ADD');
}

/** Rows of the table of expectations that the operations may need. */
const BLIND_TO = /^(?:xrc|flush|atomic-write|cm-req|payload-with-pad)/;
const NAMELESS = new Set(['RC FLUSH', 'RC ATOMIC WRITE']);
/** Messages that tshark names and does not read. */
const UNREAD_MESSAGES = /CM (?:MRA|LAP|APR|SIDR_REQ|SIDR_REP)$/;
const ACKNOWLEDGE = 0x11;
const MAD_HEADER_BYTES = 24;
/** Names that must have been met: a comparison of nothing would pass too. */
const MUST_BE_COMPARED = [
  ...['bth.opcode', 'bth.psn', 'bth.a', 'deth.q_key', 'reth.va', 'reth.dmalen', 'aeth.msn', 'immdt', 'ieth'],
  ...['aeth.syndrome.timer', 'aeth.syndrome.error_code', 'aeth.syndrome.credit_count', 'atomiceth.swapdt'],
  ...['atomicacketh.origremdt', 'invariant.crc', 'cm.req', 'cm.rep', 'cm.rej.reason', 'cm.rtu.localcommid'],
  ...['cm.dreq.localcommid', 'cm.drsp.localcommid'],
].map((name) => `infiniband.${name}`);
