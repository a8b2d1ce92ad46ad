/**
 * Links by name, as typed on a command line: `kind:rest[,option...]`. A new kind is one more entry of `KINDS`.
 */
import { RoceError } from '../../packets/errors.ts';
import type { Link } from './link.ts';
import { QemuLink } from './qemu.ts';

export { CaptureLink, type CaptureSink } from './capture.ts';
export type { Link, LinkSink } from './link.ts';
export { QemuLink, type QemuLinkOptions } from './qemu.ts';

export interface LinkOptions {
  /** Largest IP packet in bytes, 68 .. 65,535; `mtu=` in the specification wins. */
  readonly mtu?: number;
}

/** Makes a link, not started yet. @throws RoceError ERR_ROCE_ARGUMENT; the message lists what there is */
export function openLink(spec: string, options: LinkOptions = {}): Link {
  const colon = spec.indexOf(':');
  const kind = KINDS.find(({ name }) => name === spec.slice(0, colon));
  if (colon < 0 || kind === undefined) throw badSpec(spec, 'unknown kind of link');
  const [target = '', ...words] = spec.slice(colon + 1).split(',');
  if (target === '') throw badSpec(spec, 'nothing after the colon');
  return kind.open(spec, target, words, options);
}

/** One line per kind, for the help of a command. */
export function linkUsage(): readonly string[] {
  return KINDS.map(({ usage }) => usage);
}

interface LinkKind {
  readonly name: string;
  readonly usage: string;
  open(spec: string, target: string, words: readonly string[], options: LinkOptions): Link;
}

const KINDS: readonly LinkKind[] = [
  { name: 'qemu', usage: 'qemu:PATH[,connect][,mtu=N]  Unix socket of a QEMU stream netdev', open: openQemu },
];

function openQemu(spec: string, path: string, words: readonly string[], options: LinkOptions): Link {
  let { mtu } = options;
  let connect = false;
  for (const word of words) {
    const value = /^mtu=(\d{1,6})$/.exec(word)?.[1];
    if (word === 'connect') connect = true;
    else if (value !== undefined) mtu = Number(value);
    else throw badSpec(spec, `unknown option ${JSON.stringify(word)}`);
  }
  if (mtu !== undefined && !(mtu >= 68 && mtu <= 65_535)) throw badSpec(spec, `mtu must be 68 .. 65535, not ${mtu}`);
  return new QemuLink({ path, connect, ...(mtu === undefined ? {} : { mtu }) });
}

function badSpec(spec: string, what: string): RoceError {
  return new RoceError(
    'ERR_ROCE_ARGUMENT',
    `link ${JSON.stringify(spec)}: ${what}; there are: ${linkUsage().join('; ')}`,
  );
}
