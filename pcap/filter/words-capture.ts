/**
 * Words about the capture itself, and about what is wrong with a packet: number, length, direction, comments, damage.
 */
import { FrameStatus } from '../../packets/frame.ts';
import { IcrcState, icrcState } from '../dissection.ts';
import type { TunnelLayer } from '../tunnels/index.ts';
import { Direction } from '../types.ts';
import type { FilterSubject } from './types.ts';
import { type FilterWord, flagWord, numberWord, textWord } from './word.ts';

const OUTLINE = { outline: true } as const;

/** Where and how it was captured. */
export const CAPTURE_WORDS: readonly FilterWord[] = [
  numberWord('frame', 'number in the capture, from 1', {
    what: 'a number',
    max: 999_999_999_999,
    outline: true,
    get: ({ packet }) => packet.number,
  }),
  numberWord('len', 'length on the wire, in bytes', {
    what: 'a length',
    max: 0xff_ff_ff_ff,
    outline: true,
    get: ({ packet }) => packet.originalLength,
  }),
  flagWord('in', 'received by the capturing host', ({ dissection }) => dissection.direction === Direction.Inbound, {
    aliases: ['inbound'],
  }),
  flagWord('out', 'sent by the capturing host', ({ dissection }) => dissection.direction === Direction.Outbound, {
    aliases: ['outbound'],
  }),
  textWord(
    'interface',
    'seen by the interface of this name',
    (name) => (subject) => subject.interfaceName === name,
    OUTLINE,
  ),
  flagWord('commented', 'carries a comment', ({ packet }) => packet.comments.length > 0, OUTLINE),
  textWord(
    'comment',
    'carries a comment with this text in it',
    (text) =>
      ({ packet }) =>
        packet.comments.some((comment) => comment.includes(text)),
    OUTLINE,
  ),
  flagWord('cut', 'of which the capture kept a part only', ({ dissection }) => dissection.cut),
  numberWord('tunnel', 'within a tunnel, or one of this id: VNI, GRE key, session, label', {
    what: 'an id',
    max: 0xff_ff_ff_ff,
    get: ({ dissection: { tunnels, depth } }) => idOf(tunnels[depth - 1]),
    alone: ({ dissection }) => dissection.depth > 0,
  }),
];

/** Of the innermost tunnel. */
const idOf = (layer: TunnelLayer | undefined): number => (layer === undefined || layer.id < 0 ? Number.NaN : layer.id);

/** What is wrong with it by itself. */
export const DAMAGE_WORDS: readonly FilterWord[] = [
  flagWord(
    'bad-icrc',
    'the ICRC is wrong: a receiver drops it',
    (subject) => icrcOf(subject) === IcrcState.Bad,
    OUTLINE,
  ),
  flagWord('good-icrc', 'the ICRC is right', (subject) => icrcOf(subject) === IcrcState.Good, OUTLINE),
  flagWord('malformed', 'a packet that no receiver can read: lengths, checksum, opcode, version, pad', isMalformed),
];

/** An analysis may leave it unverified. */
function icrcOf({ facts, dissection }: FilterSubject): IcrcState {
  const known = facts?.icrc ?? IcrcState.Unknown;
  return known === IcrcState.Unknown ? icrcState(dissection) : known;
}

/** What the capture cut away is no fault of the packet's. */
function isMalformed({ dissection: { linkKnown, status, cut } }: FilterSubject): boolean {
  return linkKnown && !WELL_FORMED.has(status) && !(cut && status === FrameStatus.Truncated);
}

const WELL_FORMED: ReadonlySet<FrameStatus> = new Set([
  FrameStatus.Ok,
  FrameStatus.NotIp,
  FrameStatus.NotUdp,
  FrameStatus.NotRoce,
]);
