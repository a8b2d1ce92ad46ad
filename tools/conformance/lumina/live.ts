/**
 * Two devices on real wires, and a bump between: a bump of its own for each scenario, between cables that stay. Owns
 * the bump and its capture. What the devices are, lab.ts and remote.ts say.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runBump } from '../../bump/run.ts';
import type { CablePort } from '../../experiment/port.ts';
import type { TestbedEnd, TestbedFactory } from './stage.ts';

/** A device, our end of its cable, and the end of both. */
export interface LiveEnd {
  readonly end: TestbedEnd;
  readonly port: CablePort;
  close(): Promise<void>;
}

/**
 * Opens two ends, one after the other, in a directory that is gone afterwards; the theatre closes them. Rejects as they
 * do.
 */
export async function liveTestbeds(
  openA: (directory: string) => Promise<LiveEnd>,
  openB: (directory: string) => Promise<LiveEnd>,
): Promise<TestbedFactory> {
  const directory = await mkdtemp(join(tmpdir(), 'roce-lumina-'));
  const opened: LiveEnd[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((end) => end.close()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const a = await openA(directory);
    opened.push(a);
    const b = await openB(directory);
    opened.push(b);
    return { open: (rules) => openStage(a, b, { rules, capturePath: join(directory, 'wire.pcapng') }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type BumpParts = Pick<Parameters<typeof runBump>[0], 'rules'> & { readonly capturePath: string };

async function openStage(a: LiveEnd, b: LiveEnd, parts: BumpParts): ReturnType<TestbedFactory['open']> {
  const bump = await runBump({ a: a.port.lend('a'), b: b.port.lend('b'), ...parts });
  return {
    ends: { a: a.end, b: b.end },
    live: true,
    run: (promise) => promise,
    sleep: (durationNs) => delay(durationNs / 1e6),
    finish: async () => {
      await bump.stop();
      return readFile(parts.capturePath);
    },
  };
}
