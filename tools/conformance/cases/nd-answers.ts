/**
 * What the device answers to ARP requests and neighbour solicitations: a view of its frames beside RoCE, in order. Owns
 * whose frames count: those from the MAC address of the device, since other hosts of the link answer too.
 */
import { type IpAddress, type MacAddress, RoceError } from 'rocev2/packets';
import {
  type Arp,
  ArpOperation,
  ETHERNET_BYTES,
  ETHERTYPE_ARP,
  ETHERTYPE_IPV6,
  type Ethernet,
  Icmpv6Type,
  IP_PROTOCOL_ICMPV6,
  IPV6_BYTES,
  type Ipv6,
  type NeighborAdvertisement,
  readArp,
  readEthernet,
  readIpv6,
  readNeighborAdvertisement,
} from 'rocev2/packets/network';
import { demand, NotApplicable } from '../tester/outcome.ts';
import type { Tester } from '../tester/tester.ts';

/** A reply of ARP. */
export interface ArpReply extends Arp {
  readonly ethernet: Ethernet;
}

/** A neighbour advertisement. */
export interface Advertisement {
  readonly ethernet: Ethernet;
  readonly ip: Ipv6;
  /** Undefined where every receiver must drop it. */
  readonly message: NeighborAdvertisement | undefined;
}

/** Answers of the device for one of its addresses, from the moment it is opened until the case ends. */
export class NeighbourAnswers {
  /** Address and MAC address of the device, and ours. */
  readonly address: IpAddress;
  readonly mac: MacAddress;
  readonly ours: IpAddress;
  readonly ourMac: MacAddress;
  readonly #t: Tester;
  readonly #replies: ArpReply[] = [];
  readonly #advertisements: Advertisement[] = [];

  private constructor(t: Tester, version: 4 | 6, mac: MacAddress) {
    const { address, ours } = t.address(version);
    this.#t = t;
    this.address = address;
    this.mac = mac;
    this.ours = ours;
    this.ourMac = t.dut.station.mac;
  }

  /** @throws NotApplicable for a device behind a router */
  static async open(t: Tester, version: 4 | 6): Promise<NeighbourAnswers> {
    const { station } = t.dut;
    const { address } = t.address(version);
    if (!station.addresses.some((prefix) => prefix.contains(address)))
      throw new NotApplicable('the device is not on a network of the tester');
    const answers = new NeighbourAnswers(t, version, await macOf(t, address));
    const { watchOther } = station;
    station.watchOther = (bytes, ip, timeNs) => {
      watchOther?.(bytes, ip, timeNs);
      answers.#take(bytes);
    };
    t.atEnd(() => {
      station.watchOther = watchOther;
      return Promise.resolve();
    });
    return answers;
  }

  /** Sends a frame; `what` is it in words. */
  send(frame: Uint8Array, what: string): void {
    this.#t.dut.station.send(frame, `tx ${what}`);
  }

  /** The next ARP reply. @throws Violation when none comes */
  reply(): Promise<ArpReply> {
    return this.#next(this.#replies, 'an ARP reply');
  }

  /** The next advertisement. @throws Violation when none comes */
  advertisement(): Promise<Advertisement> {
    return this.#next(this.#advertisements, 'a neighbour advertisement');
  }

  /** @throws Violation when there are answers that were not taken, or some come */
  async noMore(): Promise<void> {
    await this.#t.sleep(this.#t.dut.quietNs);
    const count = this.#replies.length + this.#advertisements.length;
    demand(count === 0, `${count} answers came beyond those that were due`);
  }

  /** Our MAC address. */
  isOurs(mac: MacAddress): boolean {
    return sameMac(mac, this.ourMac);
  }

  /** That of the device. */
  isTheirs(mac: MacAddress): boolean {
    return sameMac(mac, this.mac);
  }

  async #next<T>(arrived: T[], what: string): Promise<T> {
    const t = this.#t;
    const deadline = t.now() + t.dut.patienceNs;
    for (;;) {
      const first = arrived.shift();
      if (first !== undefined) {
        t.observe();
        return first;
      }
      demand(t.now() < deadline, `${what} was expected, and none came`);
      await t.sleep(t.dut.pollNs);
    }
  }

  #take(bytes: Uint8Array): void {
    if (bytes.length < ETHERNET_BYTES) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const ethernet = readEthernet(view, 0);
    if (!this.isTheirs(ethernet.sourceMac)) return;
    if (ethernet.etherType === ETHERTYPE_ARP) {
      const arp = readArp(view, ETHERNET_BYTES, bytes.length);
      if (arp?.operation === ArpOperation.Reply) this.#replies.push({ ...arp, ethernet });
    } else if (ethernet.etherType === ETHERTYPE_IPV6 && bytes.length > MESSAGE_AT) {
      const ip = readIpv6(view, ETHERNET_BYTES);
      const end = Math.min(bytes.length, MESSAGE_AT + ip.payloadLength);
      if (ip.nextHeader !== IP_PROTOCOL_ICMPV6 || bytes[MESSAGE_AT] !== Icmpv6Type.NeighborAdvertisement) return;
      const message = readNeighborAdvertisement(view, ETHERNET_BYTES, MESSAGE_AT, end);
      this.#advertisements.push({ ethernet, ip, message });
    }
  }
}

/** Where the protocol under test does not tell the MAC address of the device, that of its other address may. */
async function macOf({ dut }: Tester, address: IpAddress): Promise<MacAddress> {
  try {
    return await dut.station.macTowards(address);
  } catch (error) {
    const other = dut.addresses.find((one) => !one.address.equals(address));
    if (other === undefined || !(error instanceof RoceError)) throw error;
    return dut.station.macTowards(other.address);
  }
}

export const sameMac = (a: MacAddress, b: MacAddress): boolean => a.every((byte, i) => byte === b[i]);

const MESSAGE_AT = ETHERNET_BYTES + IPV6_BYTES;
