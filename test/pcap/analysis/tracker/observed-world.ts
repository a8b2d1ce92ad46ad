/**
 * What a capture at one host of a simulated network holds, and what the network knows and no capture tells: which
 * frames are the same one, and in which order they were sent. From that follows what each packet is to those before it.
 */
import { Frame, FrameStatus, Medium, parseFrame } from '../../../../packets/frame.ts';
import { icrcMatches } from '../../../../packets/icrc.ts';
import { OPCODE_FLAGS, OpFlag, RETH_AT } from '../../../../packets/opcode.ts';
import { psnDiff } from '../../../../packets/psn.ts';
import { rethDmaLength } from '../../../../packets/reth.ts';
import { Mark } from '../../../../pcap/analysis/facts.ts';
import { type CapturedPacket, LinkType } from '../../../../pcap/types.ts';
import { Fate } from '../../../../src/sim/index.ts';
import { CongestedWorld, type Scenario } from '../../../property/support/congested-world.ts';

/** A packet of a capture, with the number of the frame that it is, or is a copy of, in the order of sending. */
export interface Sighting {
  readonly packet: CapturedPacket;
  readonly serial: number;
}

/** What a host has seen, and what was sent by either. */
export interface Observation {
  readonly sightings: readonly Sighting[];
  readonly sent: readonly Sighting[];
  readonly mtu: number;
}

/** Runs a scenario between two hosts and looks at one of them. */
export async function observe(scenario: Scenario, host: 0 | 1): Promise<Observation> {
  const world = new CongestedWorld(scenario);
  const { network } = world.world;
  const { tap } = network;
  const sightings: Sighting[] = [];
  const sent: Sighting[] = [];
  network.tap = {
    frame(now, port, direction, bytes, start, end, fate, serial) {
      tap?.frame(now, port, direction, bytes, start, end, fate, serial);
      const copy = bytes.slice(start, end);
      if (direction === 'out') sent.push({ packet: captured(sent.length + 1, now, copy), serial });
      if (port.name !== `host${host}` || (direction === 'in' && (fate & Fate.Dropped) !== 0)) return;
      sightings.push({ packet: captured(sightings.length + 1, now, copy), serial });
    },
  };
  await world.run();
  return { sightings, sent, mtu: scenario.mtu };
}

export function captured(number: number, timeNs: number, bytes: Uint8Array, interfaceIndex = 0): CapturedPacket {
  return {
    number,
    seconds: Math.floor(timeNs / 1e9),
    nanoseconds: timeNs % 1e9,
    bytes,
    originalLength: bytes.length,
    linkType: LinkType.Ethernet,
    interfaceIndex,
    direction: 0,
    comments: [],
  };
}

/** The marks that `expectedMarks` speaks of. */
export const JUDGED = Mark.Copy | Mark.Late | Mark.Retransmission;

/**
 * Of each packet the marks among `JUDGED` that it should have; undefined for what is not judged: acknowledges, and
 * damaged packets.
 */
export function expectedMarks({ sightings, sent, mtu }: Observation): (number | undefined)[] {
  const flows = new Map<string, Flow>();
  const flowOf = (key: string) => {
    const flow = flows.get(key) ?? new Flow();
    flows.set(key, flow);
    return flow;
  };
  for (const { packet, serial } of sent) {
    const piece = pieceOf(packet, mtu);
    if (piece !== undefined) flowOf(piece.key).send(piece, serial);
  }
  return sightings.map(({ packet, serial }) => {
    const piece = pieceOf(packet, mtu);
    return piece === undefined ? undefined : flowOf(piece.key).see(piece, serial);
  });
}

/** A request, or a part of an answer, in its PSN space. */
interface Piece {
  readonly key: string;
  readonly psn: number;
  readonly count: number;
  readonly damaged: boolean;
}

class Flow {
  /** First frame that took a PSN. */
  readonly #first = new Map<number, number>();
  /** Last frame, by order of sending, that took a PSN and was seen. */
  readonly #seen = new Map<number, number>();
  readonly #serials = new Set<number>();
  #next = -Infinity;

  send({ psn, count }: Piece, serial: number): void {
    for (let at = psn; at < psn + count; at++) if (!this.#first.has(at)) this.#first.set(at, serial);
  }

  see({ psn, count, damaged }: Piece, serial: number): number | undefined {
    if (damaged) return undefined;
    const isCopy = this.#serials.has(serial);
    this.#serials.add(serial);
    if (isCopy) return Mark.Copy;
    const known = this.#seen.get(psn);
    const first = this.#first.get(psn) ?? serial;
    const ahead = psn >= this.#next;
    for (let at = psn; at < psn + count; at++) this.#seen.set(at, Math.max(serial, this.#seen.get(at) ?? 0));
    this.#next = Math.max(this.#next, psn + count);
    if (known !== undefined) return serial < known ? Mark.Late : Mark.Retransmission;
    // What was lost behind everything else leaves no hole: its repetition looks new, unless an ACK tells.
    if (ahead) return first < serial ? undefined : 0;
    return first < serial ? Mark.Retransmission : Mark.Late;
  }
}

const frame = new Frame();

function pieceOf({ bytes }: CapturedPacket, mtu: number): Piece | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (parseFrame(bytes, view, 0, bytes.length, Medium.Ethernet, frame) !== FrameStatus.Ok) return undefined;
  const flags = OPCODE_FLAGS[frame.opcode] ?? 0;
  if ((flags & OpFlag.Ack) !== 0) return undefined;
  const kind = (flags & OpFlag.Request) !== 0 ? 'request' : 'response';
  const key = `${view.getUint32(frame.ipOffset + 12)} ${frame.destQpn} ${kind}`;
  const length = (flags & OpFlag.Read) === 0 ? 0 : rethDmaLength(view, frame.bthOffset + (RETH_AT[frame.opcode] ?? 0));
  const count = Math.max(1, Math.ceil(length / mtu));
  return { key, psn: psnDiff(frame.psn, FIRST_PSN), count, damaged: !icrcMatches(frame) };
}

/** Where both ends of a connection of `CongestedWorld` begin. */
const FIRST_PSN = 0xff_ff_f0;
