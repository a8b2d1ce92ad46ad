/**
 * Our end of queue pair 1: one message of connection management and what answers it, enough to see whether a device
 * takes MADs at all. Owns the datagram around the MAD. Connections are in other files.
 */

import { buildFrame, datagram, describePacket, type Packet, type Route } from 'rocev2/packets/kit';
import { GSI_QKEY, GSI_QPN, MAD_BYTES, readMadHeader, writeCmMad } from 'rocev2/packets/management';
import type { Inbox } from '../tester/inbox.ts';
import { demand, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';

export class GsiPeer {
  readonly #t: Tester;
  readonly #route: Route;
  readonly #inbox: Inbox;
  #asked = 0;

  private constructor(t: Tester, route: Route, inbox: Inbox) {
    this.#t = t;
    this.#route = route;
    this.#inbox = inbox;
  }

  /** Runs `script` with queue pair 1 of the device. */
  static async with(t: Tester, script: (gsi: GsiPeer) => Promise<void>, version?: 4 | 6): Promise<void> {
    if (t.dut.hostControl !== undefined && !t.has('cm')) throw new NotApplicable('the device has no cm');
    const { station } = t.dut;
    const { address, ours } = t.address(version);
    const route: Route = {
      ...{ medium: station.medium, sourceMac: station.mac, destMac: await station.macTowards(address) },
      ...{ source: ours, destination: address, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 0xc0_01 },
    };
    const inbox = station.open(GSI_QPN);
    try {
      await script(new GsiPeer(t, route, inbox));
    } finally {
      station.close(GSI_QPN);
    }
  }

  /**
   * Sends a DREQ for a connection that does not exist, which draws a DREP; `more` is what is odd about it. Gives its
   * transaction.
   */
  ask(more: Partial<Packet> = {}): bigint {
    const payload = new Uint8Array(MAD_BYTES);
    const transaction = (BigInt(this.#t.random.u32()) << 32n) | BigInt(++this.#asked);
    const [localCommId, remoteCommId] = [this.#t.random.u32(), this.#t.random.u32()];
    const body = { localCommId, remoteCommId, remoteQpn: 0x23_45, privateData: new Uint8Array(0) };
    writeCmMad(new DataView(payload.buffer), 0, transaction, { kind: 'DREQ', body });
    const packet = { ...datagram({ psn: this.#asked, qkey: GSI_QKEY, srcQpn: GSI_QPN, payload }), ...more };
    this.#t.dut.station.send(buildFrame(packet, this.#route, GSI_QPN, 0), `tx DREQ in ${describePacket(packet)}`);
    return transaction;
  }

  /** The next MAD has to belong to this transaction: what was asked before and not answered by now is not answered. */
  async answers(transaction: bigint, what: string): Promise<void> {
    const sighting = await this.#inbox.next(this.#t.dut.patienceNs);
    demand(sighting !== undefined, `${what} was not answered`);
    const { payload = new Uint8Array(0) } = sighting.packet;
    demand(payload.length === MAD_BYTES, () => `a MAD was expected, and ${describePacket(sighting.packet)} came`);
    const header = readMadHeader(new DataView(payload.buffer, payload.byteOffset), 0);
    demand(
      header.transactionId === transaction,
      `${what} was expected to be answered next, and something before it was`,
    );
  }

  /** None of these may be answered: a right one behind them is, and first. */
  async ignores(odd: readonly Partial<Packet>[]): Promise<void> {
    for (const more of odd) this.ask(more);
    await this.answers(this.ask(), 'a correct DREQ');
    const late = await this.#inbox.next(this.#t.dut.quietNs);
    demand(late === undefined, 'a second MAD came, and only one was to be answered');
  }
}
