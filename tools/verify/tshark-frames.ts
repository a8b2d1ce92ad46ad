/**
 * What tshark says of each frame of a capture file, frame by frame as it reads, so that memory does not grow with the
 * file.
 *
 * Owns the command line, the cutting of its JSON into frames and the flattening of a frame into fields. Never judges a
 * value. Source: `tshark -T json` of 4.0.17, which indents by two and begins every frame with a line of its own; an
 * installed profile and look-ups of names have no effect.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { RoceError } from 'rocev2/packets';

/** One frame: tshark's field name to its value or values, as it prints them. */
export type TsharkFrame = Readonly<Record<string, string | readonly string[]>>;

/**
 * The frames of `file` in order. @throws RoceError ERR_ROCE_CAPTURE with tshark's own words when it ends badly, after
 * every frame that it gave; a system error when it cannot be started
 */
export async function* tsharkFrames(file: string): AsyncGenerator<TsharkFrame, void, undefined> {
  // Whatever profile, decode-as or heuristics the user has set up: none of it is looked for here.
  const child = spawn('tshark', [...OPTIONS, '-r', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WIRESHARK_CONFIG_DIR: NO_DIRECTORY },
  });
  const complaints: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
  const closed = Promise.race([
    once(child, 'close'),
    once(child, 'error').then(([error]: unknown[]) => Promise.reject(error)),
  ]);
  // Looked at below; until then a failure to start must not count as unhandled.
  closed.catch(() => {});
  try {
    for await (const packet of packetTexts(child.stdout.setEncoding('utf8'))) {
      yield flattened(JSON.parse(packet));
    }
    const [status, signal]: unknown[] = await closed;
    // Run as root it warns on stderr and succeeds: only the status decides.
    if (status !== 0)
      throw new RoceError('ERR_ROCE_CAPTURE', `tshark ends with ${signal ?? status}: ${words(complaints)}`);
  } finally {
    child.kill();
  }
}

/** All frames of a file at once: for tests and small files. */
export async function allTsharkFrames(file: string): Promise<TsharkFrame[]> {
  const frames: TsharkFrame[] = [];
  for await (const frame of tsharkFrames(file)) frames.push(frame);
  return frames;
}

/** Which layers the innermost packet of a frame with tunnels has, so that tshark's can be told apart. */
export interface InnermostLayers {
  /** It begins with an Ethernet header of its own. */
  readonly ethernet: boolean;
  /** And with a VLAN tag behind that. */
  readonly vlan: boolean;
  readonly ipVersion: 0 | 4 | 6;
  /** What IP carries. */
  readonly protocol: number;
}

/** The fields of the innermost packet: of each of its layers the last one that tshark has. */
export function innermost(frame: TsharkFrame, { ethernet, vlan, ipVersion, protocol }: InnermostLayers): TsharkFrame {
  const layers = LAYERS_OF.get(frame);
  const names = [
    ...(ethernet ? ['eth'] : []),
    ...(vlan ? ['vlan'] : []),
    ipVersion === 0 ? 'arp' : ipVersion === 4 ? 'ip' : 'ipv6',
    ...[UPPER_LAYERS.get(protocol) ?? [], 'infiniband', 'data'].flat(),
  ];
  const fields = new Map<string, string[]>();
  for (const name of names) flatten([member(layers, name)].flat().at(-1), fields);
  flatten(member(layers, MALFORMED), fields);
  return asFrame(fields);
}

/** The values of a field, in the order of the packet; none when it is absent. */
export function valuesOf(frame: TsharkFrame, field: string): readonly string[] {
  const value = frame[field];
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/**
 * The text of each frame's object out of the array around them: by its last line, for what is inside stands further to
 * the right.
 */
async function* packetTexts(chunks: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let text = '';
  for await (const chunk of chunks) {
    // Looked at again is only what an end may reach back into.
    let from = Math.max(0, text.length - PACKET_ENDS.length);
    let begin = 0;
    text += chunk;
    for (let end = text.indexOf(PACKET_ENDS, from); end >= 0; end = text.indexOf(PACKET_ENDS, from)) {
      yield text.slice(text.indexOf('{', begin), end + PACKET_ENDS.length);
      begin = end + PACKET_ENDS.length;
      from = begin;
    }
    text = text.slice(begin);
  }
}

function flattened(packet: unknown): TsharkFrame {
  const fields = new Map<string, string[]>();
  const layers = member(member(packet, '_source'), 'layers');
  let depth = -1;
  for (const [name, layer] of typeof layers === 'object' && layers !== null ? Object.entries(layers) : []) {
    const at = DEPTHS.get(name);
    if (at === undefined) continue;
    // Of layers of the same depth the first is the frame's own; one further out again is a packet in a packet, as a
    // tunnel has it.
    if (at < depth) break;
    if (at === depth && name !== 'vlan') continue;
    // What an ICMP error quotes stands in its layer as far as UDP, and the rest of it behind.
    if (name === 'infiniband' && (fields.has('icmp.type') || fields.has('icmpv6.type'))) break;
    depth = at;
    // Two tags are one list, of which the inner one is the last.
    for (const occurrence of name === 'vlan' ? [layer].flat() : [layer].flat().slice(0, 1)) flatten(occurrence, fields);
  }
  flatten(member(layers, MALFORMED), fields);
  const frame = asFrame(fields);
  LAYERS_OF.set(frame, layers);
  return frame;
}

function asFrame(fields: ReadonlyMap<string, string[]>): TsharkFrame {
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  );
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

// Trees ("infiniband.bth_tree") and free-text nodes hold fields; everything else with a text value is a field. A layer
// inside a layer is a packet inside a packet, such as an ICMP error quotes: not of this frame.
function flatten(node: unknown, into: Map<string, string[]>): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    if (DEPTHS.has(name)) continue;
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === 'string') add(into, name, item);
      else flatten(item, into);
    }
  }
}

function add(into: Map<string, string[]>, name: string, value: string): void {
  const known = into.get(name);
  if (known === undefined) into.set(name, [value]);
  else known.push(value);
}

function words(complaints: readonly Buffer[]): string {
  return Buffer.concat(complaints)
    .toString('utf8')
    .replace(/^Running as user.*$/m, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** The layers whose fields are compared, from the outside in; others are TCP payload and guesses. */
const LAYERS = [
  ['eth'],
  ['vlan'],
  ['arp', 'macc', 'ip', 'ipv6'],
  ['icmp', 'icmpv6', 'igmp', 'udp', 'tcp'],
  ['infiniband'],
  ['data'],
] as const;
const DEPTHS: ReadonlyMap<string, number> = new Map(
  LAYERS.flatMap((names, depth) => names.map((name) => [name, depth] as const)),
);
const MALFORMED = '_ws.malformed';
/** By IP protocol. */
const UPPER_LAYERS: ReadonlyMap<number, string> = new Map([
  [1, 'icmp'],
  [2, 'igmp'],
  [6, 'tcp'],
  [17, 'udp'],
  [58, 'icmpv6'],
]);
/** What a frame was flattened from, as long as somebody has the frame. */
const LAYERS_OF = new WeakMap<TsharkFrame, unknown>();

/**
 * What a payload may look like to one of tshark's guesses: random bytes do now and then, and a guess that fails is a
 * malformed packet.
 */
const GUESSES = [
  ...['rpcordma', 'smc', 'smb_direct', 'nvme-rdma', 'lnet', 'iser', 'infiniband_sdp', 'fcoib', 'infiniband.eoib'],
  'drbd',
];

const OPTIONS = [
  ...['-n', '-T', 'json', '--no-duplicate-keys', '-J', [...LAYERS.flat(), MALFORMED].join(' ')],
  ...['-o', 'infiniband.identify_payload:FALSE', '-o', 'ip.defragment:FALSE', '-o', 'ip.check_checksum:TRUE'],
  ...['-o', 'ipv6.defragment:FALSE', '-o', 'tcp.desegment_tcp_streams:FALSE'],
  ...GUESSES.flatMap((protocol) => ['--disable-protocol', protocol]),
];

const NO_DIRECTORY = '/nonexistent';
const PACKET_ENDS = '\n  }';
