/** Scenes of `nvme-no-completion`: a disk that does not answer, and commands that are right to wait. */
import {
  connectNvme,
  FaultyBackend,
  MemoryBackend,
  type NvmeController,
  NvmeSubsystem,
  NvmeTarget,
  type NvmeTimers,
} from 'rocev2/nvme';
import type { Host } from './end.ts';
import { play, type Scene } from './scene.ts';
import type { Stage } from './stage.ts';

const SYMPTOM = 'nvme-no-completion';

/** All of them. */
export const NVME_NO_COMPLETION_SCENES: readonly Scene[] = [
  {
    symptom: SYMPTOM,
    name: 'nvme-read-hangs',
    triggers: true,
    about: 'The disk behind B never returns one of the reads of A; for eight seconds it serves all the others.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 8 })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-host-gives-up',
    triggers: true,
    about: 'The same, until A has waited for ten seconds: it disconnects, connects again, and repeats the read.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 14, timeoutMs: 10_000 })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-only-command-hangs',
    triggers: true,
    about: 'A sends nothing after the read that hangs; only the Keep Alives of the admin queue are answered.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 9, others: false })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-disconnected-early',
    triggers: true,
    about: 'A closes its controller two seconds after a read that hangs.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 2, close: true })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-events-held-open',
    triggers: false,
    about: 'Nothing happens at the controller for a minute: requests for events stay open, Keep Alives are answered.',
    make: () =>
      play({ vantages: ['A'] }, async (stage) => {
        const { controller } = await disk(stage);
        await reads(controller, 4);
        await stage.goOn(60e9);
      }),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-slow-command',
    triggers: false,
    about: 'A read takes twelve seconds, and is answered.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 12, answered: true })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-slow-disk',
    triggers: false,
    about: 'A disk takes three seconds for each read; when the capture ends, the last one has been waiting for eight.',
    make: () => play({ vantages: ['A'] }, slowDisk),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-capture-ends',
    triggers: false,
    about: 'The capture ends three seconds after a read that has no response yet.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 3 })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-disconnected-at-once',
    triggers: false,
    about: 'A closes its controller 700 ms after a read that has no response yet.',
    make: () => play({ vantages: ['A'] }, (stage) => oneHangs(stage, { afterS: 0.7, close: true })),
  },
  {
    symptom: SYMPTOM,
    name: 'nvme-wire-cut',
    triggers: false,
    about: 'The wire is cut while reads wait; A connects again when it is whole, and everything goes on.',
    alsoFinds: ['retry-exceeded'],
    make: () => play({ vantages: ['A'] }, wireCut),
  },
];

interface Disk {
  readonly a: Host;
  readonly controller: NvmeController;
  /** The next read waits for this, in the disk. */
  hold(wait: Promise<void>): void;
}

/** B serves a disk of 64 KiB in memory; A has connected to it. */
async function disk(stage: Stage, timeoutMs = 0): Promise<Disk> {
  const [a, b] = [stage.host('A'), stage.host('B')];
  const timers: NvmeTimers = {
    after: (durationNs, then) => {
      let live = true;
      void stage.sleep(durationNs).then(() => live && then());
      return () => {
        live = false;
      };
    },
  };
  let held: Promise<void> | undefined;
  const backend = new FaultyBackend(new MemoryBackend(1 << 16), ({ kind }) => {
    if (kind !== 'read') return undefined;
    const wait = held;
    held = undefined;
    return { wait };
  });
  const subsystem = new NvmeSubsystem({ nqn: 'nqn.2026-11.example:disk' });
  subsystem.addNamespace({ backend, uuid: new Uint8Array(16).fill(1) });
  NvmeTarget.listen(b.device, { subsystems: [subsystem], timers });
  const [address] = b.addresses;
  if (address === undefined) throw new TypeError('B has no address');
  const controller = await connectNvme(a.device, {
    address,
    subnqn: subsystem.nqn,
    hostnqn: 'nqn.2026-11.example:host',
    hostid: new Uint8Array(16).fill(2),
    timers,
    queueSize: 16,
    commandTimeoutMs: timeoutMs,
  });
  return {
    a,
    controller,
    hold: (wait) => {
      held = wait;
    },
  };
}

async function reads(controller: NvmeController, count: number): Promise<void> {
  const namespace = await controller.namespace(1);
  for (let i = 0; i < count; i++) await namespace.read(i, new Uint8Array(512));
}

interface Hang {
  readonly afterS: number;
  /** Whether other reads follow. Default true. */
  readonly others?: boolean;
  /** Whether the disk answers in the end. */
  readonly answered?: boolean;
  /** How long the host waits. Default: without end. */
  readonly timeoutMs?: number;
  /** Whether the host closes its controller in the end. */
  readonly close?: boolean;
}

/** A read that the disk holds, others after it, and the end of the capture. */
async function oneHangs(stage: Stage, { afterS, others = true, answered, timeoutMs, close }: Hang): Promise<void> {
  const { controller, hold } = await disk(stage, timeoutMs);
  const namespace = await controller.namespace(1);
  await namespace.read(0, new Uint8Array(512));
  hold(answered === true ? stage.sleep(afterS * 1e9 - 1e8) : new Promise(() => undefined));
  const held = namespace.read(1, new Uint8Array(512)).catch(() => undefined);
  for (let half = 0; half < 2 * afterS; half++) {
    if (others && controller.state === 'live') await namespace.read(2 + (half % 16), new Uint8Array(512));
    await stage.sleep(Math.min(5e8, afterS * 1e9 - half * 5e8));
  }
  if (close === true) await controller.close();
  if (answered === true || timeoutMs !== undefined) await held;
}

async function slowDisk(stage: Stage): Promise<void> {
  const { controller, hold } = await disk(stage);
  const namespace = await controller.namespace(1);
  for (let i = 0; i < 3; i++) {
    hold(stage.sleep(3e9));
    await namespace.read(i, new Uint8Array(512));
  }
  hold(new Promise(() => undefined));
  void namespace.read(3, new Uint8Array(512)).catch(() => undefined);
  await stage.sleep(8e9);
}

async function wireCut(stage: Stage): Promise<void> {
  const { a, controller, hold } = await disk(stage);
  const namespace = await controller.namespace(1);
  await namespace.read(0, new Uint8Array(512));
  hold(stage.sleep(2e9));
  const held = namespace.read(1, new Uint8Array(512));
  await namespace.read(2, new Uint8Array(512));
  const cuts = (['send', 'receive'] as const).map((direction) =>
    stage.rule({ port: a.name, direction, match: () => true, action: 'drop' }),
  );
  const during = namespace.read(3, new Uint8Array(512));
  await stage.sleep(8e9);
  for (const cut of cuts) cut.end();
  await Promise.all([held, during]);
  await stage.sleep(7e9);
}
