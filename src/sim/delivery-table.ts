/**
 * Frames that are scheduled: which slot goes to which port, what was done to it, and whether this is the last stage.
 * Owns parallel typed arrays with a list of free rows; the row number is the payload of the event. Allocates only when
 * it grows.
 */
const FIRST_ROWS = 64;

export class DeliveryTable {
  #slots = new Int32Array(FIRST_ROWS);
  #ports = new Int32Array(FIRST_ROWS);
  #fates = new Int32Array(FIRST_ROWS);
  #serials = new Float64Array(FIRST_ROWS);
  #last = new Uint8Array(FIRST_ROWS);
  /** The next free row behind each free row; -1 ends the list. */
  #next = new Int32Array(FIRST_ROWS);
  #rows = FIRST_ROWS;
  #free = -1;

  constructor() {
    this.#chain(0, FIRST_ROWS);
  }

  /** @param last the frame is handed to the port next; otherwise it enters the port's receiving wire */
  add(slot: number, port: number, fate: number, serial: number, last: boolean): number {
    if (this.#free < 0) this.#grow();
    const row = this.#free;
    this.#free = this.#next[row] ?? -1;
    this.#slots[row] = slot;
    this.#ports[row] = port;
    this.#fates[row] = fate;
    this.#serials[row] = serial;
    this.#last[row] = last ? 1 : 0;
    return row;
  }

  remove(row: number): void {
    this.#next[row] = this.#free;
    this.#free = row;
  }

  slot(row: number): number {
    return this.#slots[row] ?? 0;
  }

  port(row: number): number {
    return this.#ports[row] ?? 0;
  }

  fate(row: number): number {
    return this.#fates[row] ?? 0;
  }

  serial(row: number): number {
    return this.#serials[row] ?? 0;
  }

  isLast(row: number): boolean {
    return this.#last[row] === 1;
  }

  #chain(from: number, to: number): void {
    for (let row = from; row < to; row++) this.#next[row] = row + 1 < to ? row + 1 : this.#free;
    this.#free = from;
  }

  #grow(): void {
    const rows = this.#rows * 2;
    const slots = new Int32Array(rows);
    const ports = new Int32Array(rows);
    const fates = new Int32Array(rows);
    const serials = new Float64Array(rows);
    const last = new Uint8Array(rows);
    const next = new Int32Array(rows);
    slots.set(this.#slots);
    ports.set(this.#ports);
    fates.set(this.#fates);
    serials.set(this.#serials);
    last.set(this.#last);
    next.set(this.#next);
    this.#slots = slots;
    this.#ports = ports;
    this.#fates = fates;
    this.#serials = serials;
    this.#last = last;
    this.#next = next;
    this.#chain(this.#rows, rows);
    this.#rows = rows;
  }
}
