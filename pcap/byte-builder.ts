/**
 * A growing byte buffer for the writers of capture files.
 *
 * Owns the bytes written and not yet taken. Never reuses memory it has handed out.
 */

const FIRST_BUFFER_BYTES = 4_096;
const LARGEST_FIRST_BUFFER_BYTES = 2 * 1024 * 1024;
const UTF8 = new TextEncoder();

export class ByteBuilder {
  /** Byte order of what is written next. */
  littleEndian = true;
  private bytes = new Uint8Array(FIRST_BUFFER_BYTES);
  private view = new DataView(this.bytes.buffer);
  private used = 0;

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.used;
  }

  /** Everything written since the last call; the builder starts anew. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.used);
    // A caller that takes a megabyte at a time will do so again, and the buffer need not grow to it step by step.
    this.bytes = new Uint8Array(Math.min(Math.max(this.used, FIRST_BUFFER_BYTES), LARGEST_FIRST_BUFFER_BYTES));
    this.view = new DataView(this.bytes.buffer);
    this.used = 0;
    return taken;
  }

  u8(value: number): void {
    this.reserve(1);
    this.view.setUint8(this.used, value);
    this.used += 1;
  }

  u16(value: number): void {
    this.reserve(2);
    this.view.setUint16(this.used, value, this.littleEndian);
    this.used += 2;
  }

  u32(value: number): void {
    this.reserve(4);
    this.view.setUint32(this.used, value, this.littleEndian);
    this.used += 4;
  }

  u64(value: bigint): void {
    this.reserve(8);
    this.view.setBigUint64(this.used, value, this.littleEndian);
    this.used += 8;
  }

  /** Overwrites the u32 at `at`, an index into what `take` would return. */
  patchU32(at: number, value: number): void {
    this.view.setUint32(at, value, this.littleEndian);
  }

  /** Copies `[start, end)` of `source`. */
  copy(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    this.bytes.set(source.subarray(start, end), this.used);
    this.used += end - start;
  }

  /** Copies all of `source`. */
  append(source: Uint8Array): void {
    this.reserve(source.length);
    this.bytes.set(source, this.used);
    this.used += source.length;
  }

  /** Zero bytes up to the next multiple of four. */
  pad4(): void {
    while (this.used % 4 !== 0) this.u8(0);
  }

  /** The UTF-8 bytes of `text` within `limit` bytes, never cutting a character in two. */
  static utf8(text: string, limit: number): Uint8Array {
    const encoded = UTF8.encode(text);
    if (encoded.length <= limit) return encoded;
    let end = limit;
    // A byte 10xxxxxx continues the character before it: step back to where one starts.
    while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end--;
    return encoded.subarray(0, end);
  }

  private reserve(count: number): void {
    if (this.used + count <= this.bytes.length) return;
    const grown = new Uint8Array(2 * (this.used + count));
    grown.set(this.bytes.subarray(0, this.used));
    this.bytes = grown;
    this.view = new DataView(grown.buffer);
  }
}
