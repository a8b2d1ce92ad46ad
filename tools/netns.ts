/**
 * Network namespaces joined by veth pairs: hosts of our own on one machine, for tests, experiments and benches.
 * Owns their making and removal through iproute2. Needs root; touches nothing outside the namespaces it made.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { RoceError } from 'rocev2/packets';

/** One end of a pair: a namespace of its own with one interface. */
export interface Netns {
  readonly name: string;
  readonly device: string;
  readonly mac: string;
  /** With prefix length, as all addresses here. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** Runs a program to its end; resolves with its output. @throws Error with the program's message when it fails */
  exec(...command: readonly string[]): string;
  /** The words before a command that is to run in here, for `spawn`. */
  readonly prefix: readonly string[];
}

export interface NetnsPair {
  readonly a: Netns;
  readonly b: Netns;
  /** Removes both, and with them whatever was made in them. May be called more than once. */
  remove(): void;
}

/** Whether namespaces can be made here; the reason is a sentence for the message of a skipped test. */
export function netnsAvailable(): { readonly ok: boolean; readonly reason: string } {
  if (process.platform !== 'linux') return { ok: false, reason: 'network namespaces need Linux' };
  const name = freshName();
  const made = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (made.error !== undefined) return { ok: false, reason: `ip cannot be run: ${made.error.message}` };
  if (made.status !== 0) return { ok: false, reason: `no network namespace can be made: ${made.stderr.trim()}` };
  ip('netns', 'del', name);
  return { ok: true, reason: '' };
}

/** Two namespaces with a wire between them: 10.99.0.1 and .2, fd99::1 and ::2; addresses and wire are usable. */
export function makeNetnsPair({ mtu = 1500 }: { readonly mtu?: number } = {}): NetnsPair {
  const base = freshName();
  const names = [`${base}-a`, `${base}-b`] as const;
  const remove = (): void => {
    for (const name of names) spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
  };
  try {
    for (const name of names) addQuietNetns(name);
    const [a, b] = names;
    ip('-n', a, 'link', 'add', DEVICE, 'type', 'veth', 'peer', 'name', DEVICE, 'netns', b);
    const ends = names.map((name, index) => addEnd(name, index + 1, mtu));
    const [first, second] = ends;
    if (first === undefined || second === undefined) throw new RoceError('ERR_ROCE_STATE', 'a pair has two ends');
    for (const { name } of ends) awaitWire(name);
    return { a: first, b: second, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A namespace, and a TAP that is to be in there once who opens it has done so. */
export interface TapNetns {
  readonly name: string;
  readonly tap: string;
  moveTap(): void;
  /** Removes both. May be called more than once. */
  remove(): void;
}

/** Makes both; where that fails, neither is left. */
export function makeTapNetns(): TapNetns {
  const name = freshName();
  const tap = `rx${name.slice(-8)}`;
  const remove = (): void => {
    for (const words of [
      ['link', 'del', tap],
      ['netns', 'del', name],
    ])
      spawnSync('ip', words, { stdio: 'ignore' });
  };
  try {
    ip('tuntap', 'add', tap, 'mode', 'tap');
    addQuietNetns(name);
  } catch (error) {
    remove();
    throw error;
  }
  return { name, tap, moveTap: () => void ip('link', 'set', tap, 'netns', name), remove };
}

/** A namespace that sends nothing by itself: no duplicate address detection, no router solicitations. */
export function addQuietNetns(name: string): void {
  ip('netns', 'add', name);
  const settings = ['all', 'default'].flatMap((conf) => [
    `net.ipv6.conf.${conf}.accept_dad=0`,
    `net.ipv6.conf.${conf}.router_solicitations=0`,
  ]);
  for (const setting of settings) {
    const [key = '', value = ''] = setting.split('=');
    const path = `/proc/sys/${key.replaceAll('.', '/')}`;
    run('ip', ['netns', 'exec', name, 'sh', '-c', `echo ${value} > ${path}`]);
  }
  ip('-n', name, 'link', 'set', 'lo', 'up');
}

function addEnd(name: string, number: number, mtu: number): Netns {
  const mac = `02:99:00:00:00:0${number}`;
  const ipv4 = `10.99.0.${number}/24`;
  const ipv6 = `fd99::${number}/64`;
  ip('-n', name, 'link', 'set', DEVICE, 'address', mac, 'mtu', String(mtu), 'up');
  ip('-n', name, 'address', 'add', ipv4, 'dev', DEVICE);
  ip('-n', name, 'address', 'add', ipv6, 'dev', DEVICE, 'nodad');
  const prefix = ['ip', 'netns', 'exec', name];
  const exec = (...command: readonly string[]): string => run('ip', ['netns', 'exec', name, ...command]);
  return { name, device: DEVICE, mac, ipv4, ipv6, exec, prefix };
}

/**
 * Waits until the kernel has noticed the carrier, which it does on a thread of its own, up to a second later: whatever
 * is sent before that is lost.
 */
function awaitWire(name: string): void {
  for (let tries = 0; !/state (UP|UNKNOWN)/.test(ip('-n', name, 'link', 'show', 'dev', DEVICE)); tries++)
    if (tries === MOST_TRIES) throw new RoceError('ERR_ROCE_STATE', `${DEVICE} in ${name} has no carrier`);
}

/** Runs iproute2's ip. @throws Error with its message when it fails */
export function ip(...words: readonly string[]): string {
  return run('ip', words);
}

function run(program: string, words: readonly string[]): string {
  return execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function freshName(): string {
  return `rocev2-${randomBytes(4).toString('hex')}`;
}

const DEVICE = 'veth0';
/** Each takes milliseconds. */
const MOST_TRIES = 10_000;
