/**
 * The MAC table of a learning switch: the port at which an address was last seen.
 * Owns a table of fixed size in typed arrays, so that looking up allocates nothing and no traffic can make it grow;
 * when the places for an address are taken, one is evicted, and its traffic is flooded until it sends again.
 */
const PLACES = 4096;
const PROBES = 8;
const GROUP_BIT = 0x01_00;

export class MacTable {
  readonly #high = new Uint16Array(PLACES);
  readonly #low = new Uint32Array(PLACES);
  /** Port plus one; 0 is a free place. */
  readonly #ports = new Int32Array(PLACES);

  /** Learns that the address at `offset` is behind `port`; a group address is ignored. */
  learn(view: DataView, offset: number, port: number): void {
    const high = view.getUint16(offset);
    if ((high & GROUP_BIT) !== 0) return;
    const low = view.getUint32(offset + 2);
    const place = this.#find(high, low);
    this.#high[place] = high;
    this.#low[place] = low;
    this.#ports[place] = port + 1;
  }

  /** The port of the address at `offset`, or -1 when it must be flooded: a group address or one never seen. */
  lookup(view: DataView, offset: number): number {
    const high = view.getUint16(offset);
    if ((high & GROUP_BIT) !== 0) return -1;
    const low = view.getUint32(offset + 2);
    const place = this.#find(high, low);
    if (this.#high[place] !== high || this.#low[place] !== low) return -1;
    return (this.#ports[place] ?? 0) - 1;
  }

  /** The place that holds the address, or the one where it would go. */
  #find(high: number, low: number): number {
    const home = Math.imul(low ^ Math.imul(high, 0x9e_37_79_b1), 0x85_eb_ca_6b) >>> 20;
    for (let probe = 0; probe < PROBES; probe++) {
      const place = (home + probe) % PLACES;
      if (this.#ports[place] === 0) return place;
      if (this.#high[place] === high && this.#low[place] === low) return place;
    }
    return home;
  }
}
