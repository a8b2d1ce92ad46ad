/**
 * What the comparison of interfaces cannot know, in sentences: clocks that differ, interfaces without a partner.
 */
import type { CaptureLimit } from '../capture-limit.ts';
import type { ClockEstimate } from './clock-estimate.ts';
import type { FoundPair } from './first-look.ts';
import { isSame } from './interface-pair.ts';

/** That two clocks differ, or that it cannot be told whether they do; nothing for clocks that may be the same. */
export function clockLimit({ first, second, guessed }: FoundPair, clock: ClockEstimate): CaptureLimit[] {
  const { offsetNs, slope, uncertaintyNs, from } = clock;
  const both = from === 'both';
  if (both && isSame(clock)) return [];
  const driftPpm = Math.round(slope * 1e9) / 1e3 || 0;
  const drift = driftPpm === 0 ? '' : `, and ${driftPpm < 0 ? 'loses' : 'gains'} ${Math.abs(driftPpm)} us a second`;
  const offset = timeText(Math.abs(offsetNs));
  const side = offsetNs < 0 ? 'behind' : 'ahead of';
  const done = isSame(clock) ? 'their times are taken as they are' : `a correction of ${offset} is the least needed`;
  const guess = guessed ? ' Which interface the frames passed first is a guess.' : '';
  const text = both
    ? `The clock of interface ${second} is ${offset} ${side} that of interface ${first}${drift}: ` +
      `half of the asymmetry of the shortest delays, known within ${timeText(uncertaintyNs)}. ` +
      'The times of the two are corrected where they are compared, and nowhere else.'
    : `How far the clocks of interfaces ${first} and ${second} are apart cannot be told, since frames went in one ` +
      `direction only: ${done}${drift}, and the delays between them are not known.${guess}`;
  return [
    {
      kind: 'clock-offset',
      text,
      interfaces: [first, second],
      conversations: [],
      frames: [],
      evidence: {
        offsetNs: Math.round(offsetNs),
        ...(both ? { uncertaintyNs } : {}),
        driftPpm,
        method: both ? 'smallest delays of both directions' : 'bound of one direction',
      },
    },
  ];
}

/** Of more than two interfaces, those that share too few frames with any other. */
export function notComparedLimit(found: readonly FoundPair[], interfaces: readonly number[]): CaptureLimit[] {
  const alone = interfaces.filter((index) => found.every(({ first, second }) => index !== first && index !== second));
  if (found.length === 0 || alone.length === 0) return [];
  const pairs = found.map(({ first, second }) => `${first} and ${second}`).join(', ');
  return [
    {
      kind: 'not-compared',
      text:
        `What happened between interfaces is told of ${pairs}, which share most frames; ` +
        `${alone.length === 1 ? `interface ${alone[0]} is` : `interfaces ${alone.join(', ')} are`} compared with none.`,
      interfaces: alone,
      conversations: [],
      frames: [],
      evidence: { pairs: found.map(({ first, second }) => `${first}-${second}`) },
    },
  ];
}

/** That a pair was recognized, and its frames are too far apart to be found again. */
export function tooFarLimit({ first, second }: FoundPair, frames: number): CaptureLimit[] {
  return frames === 0 ? [] : [farLimit(first, second, { frames })];
}

/** That two interfaces share frames, and that it was not noticed in time. */
export function neverMetLimit([first, second]: readonly [number, number]): CaptureLimit {
  return farLimit(first, second, {});
}

function farLimit(first: number, second: number, evidence: CaptureLimit['evidence']): CaptureLimit {
  return {
    kind: 'not-compared',
    text:
      `Interfaces ${first} and ${second} saw the same frames, but too many others are between the two sightings: what ` +
      'happened on the way is not told. Correct the clock of one capture (editcap -t) before merging, or merge shorter ' +
      'pieces.',
    interfaces: [first, second],
    conversations: [],
    frames: [],
    evidence,
  };
}

function timeText(ns: number): string {
  const [unit, perUnit] = ns >= 1e9 ? ['s', 1e9] : ns >= 1e6 ? ['ms', 1e6] : ns >= 1e3 ? ['us', 1e3] : ['ns', 1];
  return `${Number((ns / perUnit).toPrecision(6))} ${unit}`;
}
