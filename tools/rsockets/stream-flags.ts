/**
 * The command line that rstream and riostream share, and what it means. Flags are theirs; what needs a kernel (TCP
 * sockets, fork, GIDs) is refused with a sentence.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { IpAddress } from 'rocev2/packets';
import type { RSocketOptions } from 'rocev2/rsockets';
import { integer, parseAddress } from '../options.ts';

export interface StreamFlags {
  readonly s?: IpAddress;
  readonly b?: IpAddress;
  readonly B?: number;
  readonly i: number;
  readonly I?: number;
  readonly C?: number;
  readonly S?: number | 'all';
  readonly p: number;
  readonly k?: number;
  readonly T?: readonly TestOption[];
  readonly limit?: number;
}

/** What is left of `-T`: the others choose between ways of waiting that we do not have. */
export type TestOption = 'verify' | 'waiting';

export interface StreamOptions {
  /** The server's address; absent: be the server. */
  readonly server: IpAddress | undefined;
  /** Ours to listen on or to connect from. */
  readonly bind: IpAddress | undefined;
  readonly port: number;
  /** One test of our own choice instead of the ladder. */
  readonly custom: { readonly size: number; readonly transfers: number; readonly iterations: number } | undefined;
  /** All sizes of the ladder, or every fourth. */
  readonly allSizes: boolean;
  readonly limit: number;
  readonly buffers: RSocketOptions;
  readonly inline: number;
  readonly verify: boolean;
  /** Seconds between keepalives, 0 for none. */
  readonly keepalive: number;
}

/** Adds the flags; `keepalive` is rstream's alone. */
export function addStreamOptions(command: Command, { keepalive }: { readonly keepalive: boolean }): Command {
  command
    .option('-s <address>', 'connect to this server; without it, be one', parseAddress)
    .option('-b <address>', 'server: take connections on this address only; client: connect from it', parseAddress)
    .option('-f <format>', 'format of addresses: only ip and ipv6 are known', addressFormat)
    .option('-B <bytes>', 'size of the send and receive buffers [524288]', integer(1024, 2 ** 28))
    .option('-i <bytes>', 'latency tests: bytes up to which data goes inline', integer(0, 512), DEFAULT_INLINE)
    .option('-I <count>', 'rounds; one test instead of the ladder, as with -C and -S', integer(1, 2 ** 31 - 1))
    .option('-C <count>', 'transfers one way before the other way has its turn', integer(1, 2 ** 31 - 1))
    .option('-S <bytes>', 'bytes of a transfer, or "all" for every size of the ladder', transferSize)
    .option('-p <port>', 'port', integer(0, 65_535), RDMA_PORT);
  if (keepalive)
    command.option('-k <seconds>', 'show every so often that the connection lives', integer(1, 2 ** 31 - 1));
  return command
    .option(
      '-T <option>',
      'v|verify the data; a|async, b|blocking, n|nonblocking, r|resolve change nothing',
      testOption,
    )
    .option(
      '--limit <count>',
      'ladder: at most so many transfers a test; the other side needs the same value',
      integer(1, 100_000),
    );
}

export function streamOptions(flags: StreamFlags): StreamOptions {
  const { s, b, B, i, I, C, S, p, k, T = [], limit } = flags;
  const isCustom = I !== undefined || C !== undefined || typeof S === 'number';
  const custom = { size: typeof S === 'number' ? S : DEFAULT_SIZE, transfers: C ?? DEFAULT_COUNT, iterations: I ?? 1 };
  // The options of sockets are half of what is allocated (rdma:rsocket.c#rsetsockopt).
  const bytes = 2 * (B ?? DEFAULT_BUFFER);
  return {
    server: s,
    bind: b,
    port: p,
    custom: isCustom ? custom : undefined,
    allSizes: S === 'all',
    limit: limit ?? Number.POSITIVE_INFINITY,
    buffers: { sendBuffer: bytes, receiveBuffer: bytes },
    inline: i,
    verify: T.includes('verify'),
    keepalive: k ?? 0,
  };
}

function addressFormat(text: string): string {
  if (!/^ip/i.test(text)) throw new InvalidArgumentError('only ip and ipv6 are known here');
  return text;
}

function transferSize(text: string): number | 'all' {
  return /^all/i.test(text) ? 'all' : integer(1, MAX_SIZE)(text);
}

function testOption(text: string, previous: readonly TestOption[] = []): TestOption[] {
  if (/^(?:v|verify.*)$/i.test(text)) return [...previous, 'verify'];
  if (/^(?:a|b|n|r|async.*|block.*|nonblock.*|resolve.*)$/i.test(text)) return [...previous, 'waiting'];
  if (/^(?:s|f|socket.*|fork.*)$/i.test(text))
    throw new InvalidArgumentError('sockets of the kernel are not what this is about');
  throw new InvalidArgumentError('a test option is one of a, b, n, r and v');
}

const RDMA_PORT = 7471;
const DEFAULT_SIZE = 1000;
const DEFAULT_COUNT = 1000;
const DEFAULT_INLINE = 64;
const DEFAULT_BUFFER = 1 << 19;
const MAX_SIZE = 2 ** 28;
