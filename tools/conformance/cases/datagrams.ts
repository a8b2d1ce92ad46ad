/**
 * A datagram queue pair of the device and our end of it: messages that must be delivered, each into the next receive,
 * and packets that must be as if they had never been. Owns the count of receives.
 */

import { datagram, type Packet, pattern } from 'rocev2/packets/kit';
import type { HostCompletion, PathAttributes } from '../host-control/host-control.ts';
import { demandReception } from '../tester/completion.ts';
import { DUT_QKEY, type TesterConnectOptions } from '../tester/connect.ts';
import { demand } from '../tester/outcome.ts';
import type { ReceivedPacket, TesterPeer } from '../tester/peer.ts';
import type { Tester } from '../tester/tester.ts';

/** What a receive of a datagram has before the message: a GRH, or an IP header in its place. */
export const HEADER_AREA = 40;

export class DatagramPeer {
  readonly peer: TesterPeer;
  readonly qkey: number;
  readonly #t: Tester;
  #delivered = 0;

  private constructor(t: Tester, peer: TesterPeer, qkey: number) {
    this.#t = t;
    this.peer = peer;
    this.qkey = qkey;
  }

  static async open(t: Tester, options: TesterConnectOptions = {}): Promise<DatagramPeer> {
    const qkey = options.qkey ?? DUT_QKEY;
    return new DatagramPeer(t, await t.connect({ ...options, type: 'ud', qkey }), qkey);
  }

  /** A message of `length` bytes, and what is odd about it. */
  message(length: number, more: Partial<Packet> = {}): Packet {
    const payload = pattern(length, length);
    return { ...datagram({ psn: 0, qkey: this.qkey, srcQpn: this.peer.qpn, payload }), ...more };
  }

  /**
   * The message must be delivered into the receive that is next, whole and with nothing lost before it; gives its
   * completion.
   */
  async delivers(packet: Packet, receiveBytes = 1024): Promise<HostCompletion> {
    this.peer.tx(packet);
    return this.delivered(packet, receiveBytes);
  }

  /** As `delivers`, for what was sent already. */
  async delivered(packet: Packet, receiveBytes = 1024): Promise<HostCompletion> {
    const { payload = NOTHING } = packet;
    const [completion] = await this.peer.recvCompletions(1);
    const wrId = ++this.#delivered;
    const { srcQpn = 0, imm } = packet;
    const wanted = { wrId, byteLen: payload.length + HEADER_AREA, imm, srcQp: srcQpn };
    demandReception(completion, wanted, this.peer.dutQpn);
    const bytes = await this.received(receiveBytes, payload.length);
    demand(
      bytes.every((byte, i) => byte === payload[i]),
      'what was delivered is not what was sent',
    );
    return completion;
  }

  /** None of these may be delivered or answered, or use a receive: the message behind them is the next. */
  async ignores(...packets: readonly Packet[]): Promise<void> {
    for (const packet of packets) this.peer.tx(packet);
    await this.delivers(this.message(33));
    const [late] = this.peer.drain();
    demand(late === undefined, 'a datagram was answered');
  }

  /** The header area of the newest message. */
  headerArea(receiveBytes = 1024): Promise<Uint8Array> {
    return this.#memory(receiveBytes, 0, HEADER_AREA);
  }

  received(receiveBytes: number, length: number): Promise<Uint8Array> {
    return this.#memory(receiveBytes, HEADER_AREA, length);
  }

  /** Lets the device send a message of `length` bytes to us; gives the packet. */
  async sends(length: number, path: Partial<PathAttributes> = {}, remoteQkey = OUR_QKEY): Promise<ReceivedPacket> {
    const t = this.#t;
    const { peer } = this;
    const ah = t.handle();
    const { gidIndex, ours } = t.address(peer.route.source.version);
    await t.hostControl.call('ah.create', { ah, pd: peer.pd, destination: `${ours}`, sgidIndex: gidIndex, ...path });
    const pieces = [{ mr: t.need(peer.buffers?.mr), offset: 0, length }];
    await peer.post({ wrId: 1, opcode: 'send', pieces, ah, remoteQpn: peer.qpn, remoteQkey });
    const received = await peer.take();
    demand(received !== undefined, 'the device sent no datagram');
    return received;
  }

  #memory(receiveBytes: number, offset: number, length: number): Promise<Uint8Array> {
    const at = (this.#delivered - 1) * receiveBytes + offset;
    return this.#t.memory(this.#t.need(this.peer.buffers), at, length);
  }
}

const NOTHING = new Uint8Array(0);
/** Of a queue pair of ours. */
export const OUR_QKEY = 0x0765_4321;
