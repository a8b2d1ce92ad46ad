/**
 * Faults by chance on a command line: `--loss 0.01` for both directions, `--loss a-to-b=0.01` for one; later ones count.
 * Owns the flags and their units; what they mean is `FaultSpec`'s.
 */
import { type Command, InvalidArgumentError } from 'commander';
import type { FaultSpec } from '../../src/fabric/index.ts';
import type { FaultDirection, WireFaults } from '../../src/faults/rule.ts';

/** What the flags of `addChanceOptions` give. */
export interface ChanceFlags {
  readonly loss?: PerDirection;
  readonly duplicate?: PerDirection;
  readonly corrupt?: PerDirection;
  readonly reorder?: PerDirection;
  readonly ceMark?: PerDirection;
  readonly delay?: PerDirection;
  readonly jitter?: PerDirection;
  readonly rate?: PerDirection;
}

export type PerDirection = Readonly<Partial<Record<FaultDirection, number>>>;

export function addChanceOptions(command: Command): Command {
  for (const { flag, unit, what, max } of CHANCES) {
    const parse = (text: string, previous: PerDirection = {}): PerDirection => ({
      ...previous,
      ...parseOne(text, max),
    });
    command.option(`--${flag} <${unit}>`, `${what}; one direction only: a-to-b=... or b-to-a=...`, parse);
  }
  return command;
}

/** The faults of a file, with those of the flags in their place. */
export function chanceFaults(flags: ChanceFlags, file: WireFaults): WireFaults {
  const ofDirection = (direction: FaultDirection, spec: FaultSpec = {}): FaultSpec => {
    const changes = CHANCES.flatMap(({ name, field, scale }) => {
      const value = flags[name]?.[direction];
      return value === undefined ? [] : [[field, value * scale] as const];
    });
    const reorders = changes.some(([field]) => field === 'reorder');
    const hold = reorders && spec.reorderDelayNs === undefined ? { reorderDelayNs: REORDER_DELAY_NS } : {};
    return { ...spec, ...hold, ...Object.fromEntries(changes) };
  };
  return { aToB: ofDirection('a-to-b', file.aToB), bToA: ofDirection('b-to-a', file.bToA) };
}

interface Chance {
  readonly name: keyof ChanceFlags;
  readonly flag: string;
  readonly unit: string;
  readonly field: keyof FaultSpec;
  readonly what: string;
  /** Largest value as typed, and what it is multiplied with. */
  readonly max: number;
  readonly scale: number;
}

function parseOne(text: string, max: number): PerDirection {
  const [, direction, digits = ''] = /^(?:(a-to-b|b-to-a)=)?(\d+(?:\.\d+)?(?:e\d+)?)$/.exec(text) ?? [];
  const value = digits === '' ? Number.NaN : Number(digits);
  if (!(value >= 0 && value <= max))
    throw new InvalidArgumentError(`a number from 0 to ${max} is expected, for one direction a-to-b=... or b-to-a=...`);
  if (direction === 'a-to-b' || direction === 'b-to-a') return { [direction]: value };
  return { 'a-to-b': value, 'b-to-a': value };
}

/** A frame that is held back so long is overtaken on any wire, and no requester has given up. */
const REORDER_DELAY_NS = 1_000_000;

const share = { unit: 'share', max: 1, scale: 1 } as const;
const milliseconds = { unit: 'ms', max: 60_000, scale: 1e6 } as const;

const CHANCES: readonly Chance[] = [
  { name: 'loss', flag: 'loss', field: 'loss', what: 'share of frames lost, 0..1', ...share },
  { name: 'duplicate', flag: 'duplicate', field: 'duplicate', what: 'share of frames that come twice', ...share },
  { name: 'corrupt', flag: 'corrupt', field: 'corrupt', what: 'share of frames with one bit flipped', ...share },
  {
    name: 'reorder',
    flag: 'reorder',
    field: 'reorder',
    what: 'share of frames held back 1 ms and overtaken',
    ...share,
  },
  { name: 'ceMark', flag: 'ce-mark', field: 'ceMark', what: 'share of ECN-capable packets marked CE', ...share },
  { name: 'delay', flag: 'delay', field: 'delayNs', what: 'how much later each frame arrives', ...milliseconds },
  { name: 'jitter', flag: 'jitter', field: 'jitterNs', what: 'up to so much later, in order', ...milliseconds },
  { name: 'rate', flag: 'rate', unit: 'bps', field: 'rateBps', what: 'bits a second', max: 1e12, scale: 1 },
];
