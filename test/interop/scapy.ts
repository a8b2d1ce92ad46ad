/**
 * Runs scapy's RoCE layer, a reader of BTH, AETH and ICRC that knows nothing of this project: the second oracle beside
 * tshark.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What scapy says of one packet. */
export interface ScapyPacket {
  /** In the file, from 1. */
  readonly number: number;
  /** Name of the opcode; its number where scapy has no name. */
  readonly name: string;
  readonly bth: Readonly<Record<string, number>>;
  /** Where scapy looks for one. */
  readonly aeth: { readonly syndrome: number; readonly msn: number } | null;
  /** Everything between BTH and ICRC. */
  readonly behindBth: string;
  /** As in the packet. */
  readonly icrc: string;
  readonly computedIcrc: string;
}

/** Whether scapy can be run; the reason is a sentence for the message of a skipped test. */
export function scapyAvailable(): { readonly ok: boolean; readonly reason: string } {
  return python() === undefined
    ? { ok: false, reason: 'scapy is not installed: no python3 imports scapy.contrib.roce' }
    : { ok: true, reason: '' };
}

/** Every packet of `file` in which scapy finds a BTH. Throws when scapy fails, with its own words. */
export function readByScapy(file: string): ScapyPacket[] {
  return run(['read', file]).map((line): ScapyPacket => JSON.parse(line));
}

/** Frames that scapy builds, by name. */
export function builtByScapy(): Map<string, Uint8Array> {
  const built = run(['build']).map((line): { name: string; frame: string } => JSON.parse(line));
  return new Map(built.map(({ name, frame }) => [name, Uint8Array.from(Buffer.from(frame, 'hex'))]));
}

function run(args: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync(python() ?? 'python3', [SCRIPT, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`scapy ended with ${status}: ${stderr}`);
  return stdout.trimEnd().split('\n');
}

/** Debian's package belongs to Debian's own python3, which need not be the first one there is. Looked for once. */
function python(): string | undefined {
  found ??= {
    path: PYTHONS.find(
      (path) => spawnSync(path, ['-c', 'import scapy.contrib.roce'], { stdio: 'ignore' }).status === 0,
    ),
  };
  return found.path;
}

let found: { readonly path: string | undefined } | undefined;

const PYTHONS = ['python3', '/usr/bin/python3'];
const SCRIPT = fileURLToPath(new URL('scapy-roce.py', import.meta.url));
