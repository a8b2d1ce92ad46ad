/**
 * Random faults on a command line: `--loss 0.01` or `--loss 1%` for both directions, `--loss a-to-b=0.01` for one;
 * later ones count. Owns the flags and their units; `FaultSpec` says what they mean.
 */
import { type Command, InvalidArgumentError } from 'commander';
import { checkFaultSpec, FAULT_DIRECTIONS, type FaultDirection, type FaultSpec, type WireFaults } from 'rocev2/faults';
import { defined, RoceError } from 'rocev2/packets';
import type { EcnProfile } from 'rocev2/sim';
import { readShare, SHARE_HINT } from '../share.ts';

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
  readonly queue?: PerDirection;
  readonly red?: PerDirection<EcnProfile>;
}

export type PerDirection<T = number> = Readonly<Partial<Record<FaultDirection, T>>>;

export function addChanceOptions(command: Command): Command {
  for (const { flag, unit, what, max } of CHANCES) {
    const parse = (text: string, previous: PerDirection = {}): PerDirection => ({
      ...previous,
      ...parseOne(text, max, unit === share.unit),
    });
    command.option(`--${flag} <${unit}>`, `${what}; one direction only: a-to-b=... or b-to-a=...`, parse);
  }
  return command.option(
    '--red <kmin,kmax,pmax>',
    'mark CE by what waits for --rate: nothing up to kmin bytes, a share of pmax at kmax, everything above; one direction only: a-to-b=...',
    (text: string, previous: PerDirection<EcnProfile> = {}) => ({ ...previous, ...parseRed(text) }),
  );
}

/** The error in the faults, as a sentence; empty without one. */
export function faultProblem({ aToB = {}, bToA = {} }: WireFaults): string {
  try {
    checkFaultSpec(aToB);
    checkFaultSpec(bToA);
    return '';
  } catch (error) {
    if (error instanceof RoceError) return error.message;
    throw error;
  }
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
    const red = flags.red?.[direction];
    return { ...spec, ...hold, ...Object.fromEntries(changes), ...defined({ ecn: red }) };
  };
  return { aToB: ofDirection('a-to-b', file.aToB), bToA: ofDirection('b-to-a', file.bToA) };
}

interface Chance {
  readonly name: Exclude<keyof ChanceFlags, 'red'>;
  readonly flag: string;
  readonly unit: string;
  readonly field: keyof FaultSpec;
  readonly what: string;
  /** Largest value as typed, and what it is multiplied with. */
  readonly max: number;
  readonly scale: number;
}

function parseOne(text: string, max: number, isShare: boolean): PerDirection {
  const [direction, digits] = splitDirection(text);
  const value = isShare ? readShare(digits) : readNumber(digits);
  if (!(value >= 0 && value <= max)) {
    const expected = isShare ? 'a number from 0 to 1, or percent such as 1%,' : `a number from 0 to ${max}`;
    throw new InvalidArgumentError(`${expected} is expected, for one direction a-to-b=... or b-to-a=...`);
  }
  return inDirection(direction, value);
}

function parseRed(text: string): PerDirection<EcnProfile> {
  const [direction, numbers] = splitDirection(text);
  const [kminBytes = Number.NaN, kmaxBytes = Number.NaN, pmax = Number.NaN, ...more] = numbers
    .split(',')
    .map(readNumber);
  if (more.length > 0 || !(kminBytes <= kmaxBytes && pmax <= 1))
    throw new InvalidArgumentError('KMIN,KMAX,PMAX is expected: bytes, as many or more, and a share of 0 to 1');
  return inDirection(direction, { kminBytes, kmaxBytes, pmax });
}

function splitDirection(text: string): readonly [FaultDirection | undefined, string] {
  const direction = FAULT_DIRECTIONS.find((known) => text.startsWith(`${known}=`));
  return [direction, direction === undefined ? text : text.slice(direction.length + 1)];
}

/** NaN for what is no plain number, signs included. */
function readNumber(text: string): number {
  return /^\d+(?:\.\d+)?(?:e\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

function inDirection<T>(direction: FaultDirection | undefined, value: T): PerDirection<T> {
  return direction === undefined ? { 'a-to-b': value, 'b-to-a': value } : { [direction]: value };
}

/** A frame that is delayed so long is overtaken on any wire, and no requester has given up. */
const REORDER_DELAY_NS = 1_000_000;

const share = { unit: 'share', max: 1, scale: 1 } as const;
const milliseconds = { unit: 'ms', max: 60_000, scale: 1e6 } as const;

const CHANCES: readonly Chance[] = [
  { name: 'loss', flag: 'loss', field: 'loss', what: `share of frames lost, ${SHARE_HINT}`, ...share },
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
  {
    name: 'queue',
    flag: 'queue',
    unit: 'bytes',
    field: 'queueBytes',
    what: 'bytes that may wait for --rate before frames are dropped (default: 262144)',
    max: 1e9,
    scale: 1,
  },
];
