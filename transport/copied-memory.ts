/**
 * Memory that is reached by copies alone: that of another process, say. It may go away while it is registered (nothing
 * pins it), so each copy says whether it has succeeded. Owns the interface only.
 *
 * What a failed copy means is decided where the copy is made: a local protection error for memory that a work request
 * names, a remote access error for memory that the peer names (rxe:rxe_resp.c#write_data_in, #read_reply).
 */

/** Memory that is reached by copies. Offsets are those of the region; a copy may be cut short when it fails. */
export interface CopiedMemory {
  /** Bytes. */
  readonly length: number;
  /**
   * Copies `length` bytes at `offset` to byte `toAt` of `to`; false when any of them is not there.
   *
   * @param ahead how many bytes of the same message lie there, `length` or more: those behind the first `length` are
   *   asked for next, in order, and may be fetched with them
   */
  read(offset: number, to: Uint8Array, toAt: number, length: number, ahead: number): boolean;
  /**
   * Copies `length` bytes from byte `fromAt` of `from` to `offset`; false when any of them cannot be written.
   *
   * @param more whether the same message goes on right behind these bytes, by the next call of this `writer`: a copy
   *   may then be put off until that call, whose result is that of both; to the end of this turn at most, whether it
   *   comes or not
   * @param writer stands for the message, while it is one
   */
  write(offset: number, from: Uint8Array, fromAt: number, length: number, more: boolean, writer: object): boolean;
}
