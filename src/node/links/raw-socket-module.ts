/**
 * Types of the parts of npm `raw-socket` 1.8.1 that `raw-socket.ts` and its helpers use; the package publishes none.
 * They are ours and not the package's in `native-packages.d.ts`, so that users of our types do not need it; for the
 * same reason a Buffer is written as the Uint8Array that it is, and our declarations name nothing of @types/node.
 *
 * `wrap` is the native object behind a socket: its calls are the system calls, made at once, where the package's own
 * `send` and `message` wait for a turn of the event loop for each packet (read in its index.js and raw.cc).
 */
export interface RawSocketModule {
  createSocket(options: { protocol: number; addressFamily: number; bufferSize: number }): RawSocket;
  readonly AddressFamily: { readonly IPv4: number; readonly IPv6: number };
}

export interface RawSocket {
  readonly wrap: NativeSocket;
  /** setsockopt(2) with an integer, or with `length` bytes of a buffer. */
  setOption(level: number, option: number, value: number): void;
  setOption(level: number, option: number, value: Uint8Array, length: number): void;
  /** getsockopt(2) into `value`; returns the number of bytes. */
  getOption(level: number, option: number, value: Uint8Array, length: number): number;
  pauseRecv(): this;
  pauseSend(): this;
  resumeSend(): this;
  on(event: 'error', listener: (error: Error) => void): this;
  close(): this;
}

export interface NativeSocket {
  /**
   * recvfrom(2) into all of `buffer`; calls back before it returns. Throws the text of strerror(3), for EAGAIN as well.
   */
  recv(buffer: Uint8Array, callback: (buffer: Uint8Array, bytes: number, source: string) => void): void;
  /**
   * sendto(2); calls back before it returns. Throws the text of strerror(3). After `close` it would make a new socket.
   */
  send(buffer: Uint8Array, offset: number, length: number, address: string, callback: (bytes: number) => void): void;
  on(event: 'recvReady' | 'sendReady', listener: () => void): void;
  removeAllListeners(event: 'recvReady'): void;
}
