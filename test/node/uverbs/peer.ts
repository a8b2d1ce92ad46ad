/** A client of the server of verbs, by hand. */
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { FileKind, FrameType, HEADER_BYTES, TOKEN_BYTES, writeHeader } from '../../../src/node/uverbs/wire.ts';

export class Peer {
  token: Buffer = Buffer.alloc(0);
  readonly closed: Promise<unknown>;
  readonly #socket: Socket;
  #came: Buffer = Buffer.alloc(0);
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        this.#came = Buffer.concat([this.#came, chunk]);
        this.#wake();
      });
  }

  static async connect(path: string): Promise<Peer> {
    const socket = connect(path);
    await new Promise((resolve) => socket.once('connect', resolve));
    return new Peer(socket);
  }

  async open(): Promise<void> {
    const opened = await this.ask(FrameType.Open, words(FileKind.Uverbs));
    this.token = opened.subarray(0, TOKEN_BYTES);
  }

  /** The words of the response. */
  async command(number: number): Promise<number[]> {
    const response = await this.ask(FrameType.Command, words(number, 0, 0, 0));
    return Array.from({ length: response.length / 4 }, (_, at) => response.readUInt32LE(4 * at));
  }

  async ask(type: number, body: Uint8Array): Promise<Buffer> {
    this.send(frame(type, body));
    while (this.#came.length < HEADER_BYTES || this.#came.length < HEADER_BYTES + this.#came.readUInt32LE(0))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const end = HEADER_BYTES + this.#came.readUInt32LE(0);
    expect(this.#came.readUInt32LE(12)).toBe(0);
    const answer = this.#came.subarray(HEADER_BYTES, end);
    this.#came = this.#came.subarray(end);
    return answer;
  }

  send(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  end(bytes: Uint8Array): void {
    this.#socket.end(bytes);
  }

  pause(): void {
    this.#socket.pause();
  }
}

export function frame(type: number, body: Uint8Array, id = 0): Buffer {
  return Buffer.concat([header(body.length, type, id), body]);
}

export function header(length: number, type: number, id = 0): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  writeHeader(new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES), length, type, id, 0);
  return bytes;
}

export function words(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}
