/**
 * Asks a discovery service where subsystems are. Owns how its log page is read whole: with the counter of changes
 * before and after, as nvme-cli does.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { RdmaDevice } from '../../../device/api.ts';
import {
  DISCOVERY_ENTRY_BYTES,
  DISCOVERY_HEADER,
  DISCOVERY_NQN,
  type DiscoveryEntry,
  LogPage,
  readDiscoveryLog,
} from '../codec/index.ts';
import { Association } from './association.ts';
import { readLogPage } from './events.ts';
import { type NvmeAddress, type NvmeConnectOptions, settingsOf } from './options.ts';

/** What a discovery service knows. */
export interface Discovered {
  /** Goes up with each change. */
  readonly genctr: bigint;
  /** Ways to subsystems. */
  readonly entries: readonly DiscoveryEntry[];
}

/** How a discovery service is asked: with secrets where it demands authentication. */
export type NvmeDiscoverOptions = NvmeAddress &
  Pick<NvmeConnectOptions, 'hostSecret' | 'controllerSecret' | 'crypto' | 'commandTimeoutMs'>;

/**
 * The discovery log of a target. Rejects as `connectNvme`; with ERR_ROCE_TIMEOUT when the log changes again and again
 * while it is read, with ERR_ROCE_STATE when it makes no sense.
 */
export async function discoverNvme(device: RdmaDevice, from: NvmeDiscoverOptions): Promise<Discovered> {
  const settings = settingsOf({ ...from, subnqn: DISCOVERY_NQN, keepAliveMs: 0 });
  const association = await Association.connect(device, settings, NOBODY, false);
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const found = await readWhole(association);
      if (found !== undefined) return found;
    }
    throw new RoceError('ERR_ROCE_TIMEOUT', 'the discovery log changes faster than it can be read');
  } finally {
    await association.close(true);
  }
}

/** Undefined when the log has changed meanwhile. */
async function readWhole(association: Association): Promise<Discovered | undefined> {
  const before = await readHeader(association);
  if (before.numrec > BigInt(MAX_ENTRIES))
    throw new RoceError('ERR_ROCE_STATE', `the discovery log claims ${before.numrec} entries`);
  const bytes = DISCOVERY_ENTRY_BYTES * (1 + Number(before.numrec));
  const pieces = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, bytes - at);
    pieces.set(await readLogPage(association, LogPage.Discovery, length, { offset: BigInt(at), nsid: 0 }), at);
  }
  const log = readDiscoveryLog(pieces);
  const after = await readHeader(association);
  if (log === undefined) throw new RoceError('ERR_ROCE_STATE', 'the discovery log has another format');
  if (log.header.genctr !== before.genctr || after.genctr !== before.genctr) return undefined;
  return { genctr: after.genctr, entries: log.entries };
}

async function readHeader(association: Association) {
  const data = await readLogPage(association, LogPage.Discovery, DISCOVERY_ENTRY_BYTES, { nsid: 0 });
  return DISCOVERY_HEADER.read(data) ?? DISCOVERY_HEADER.zeroed();
}

const NOBODY = { ioSlotFreed: () => {}, died: () => {} };
const TRIES = 5;
const PIECE_BYTES = 16 * 1024;
/** Far above what services have (MAX_DISC_LOGS of Linux is 255). */
const MAX_ENTRIES = 4096;
