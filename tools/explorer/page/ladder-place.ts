/**
 * Where one is in a ladder, of either kind: the chosen packet stays in sight, keys move the choice.
 *
 * Owns the order of moves.
 */
import { useCallback, useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { isTyping, type ViewProps } from './view.ts';

/** What both kinds of ladder get. */
export interface BoxProps extends ViewProps {
  readonly conversation: number;
  readonly left: string;
  readonly right: string;
}

/** Where one is in a ladder. */
export interface LadderPlace extends Pick<BoxProps, 'client' | 'conversation' | 'place' | 'go'> {
  readonly total: number;
  readonly reveal: (line: number) => void;
  /** The line in which a packet stands, where lines are not those of equal rows. */
  readonly lineOf?: (number: number) => Promise<number>;
}

/** Keeps the chosen packet in sight; gives what moves the choice by so many packets. */
export function useLadderPlace({ client, conversation, place, go, total, reveal, lineOf }: LadderPlace) {
  const latest = useRef({ reveal, lineOf });
  latest.current = { reveal, lineOf };
  const selected = useRef(place.packet);
  selected.current = place.packet;
  const moves = useRef(Promise.resolve());
  const { fromNs, toNs } = place;
  useEffect(() => {
    if (place.packet === 0 || total === 0) return undefined;
    let stale = false;
    const wish = { conversation, fromNs, toNs, number: place.packet };
    const line = latest.current.lineOf?.(place.packet) ?? client.ask('ladderLine', wish);
    line.then((answer) => {
      if (!stale) latest.current.reveal(answer);
    }, client.onFailure);
    return () => {
      stale = true;
    };
  }, [client, conversation, place.packet, fromNs, toNs, total]);
  const step = useCallback(
    async (by: number): Promise<void> => {
      const wish = { conversation, fromNs, toNs };
      const number = selected.current;
      let line = (number === 0 ? -1 : await client.ask('ladderLine', { ...wish, number })) + by;
      const rowAt = async (from: number) => (await client.ask('ladder', { ...wish, from, count: 1 })).rows[0];
      let row = line < 0 ? undefined : await rowAt(line);
      // Lines that are no packets are stepped over.
      while (row !== undefined && row.kind !== 'packet') {
        line += Math.sign(by);
        row = line < 0 ? undefined : await rowAt(line);
      }
      if (row === undefined) return;
      selected.current = row.packet.number;
      go({ packet: row.packet.number, conversation });
    },
    [client, conversation, fromNs, toNs, go],
  );
  // One after the other: each begins where the one before has led, however fast keys follow.
  return useCallback(
    (by: number): void => {
      moves.current = moves.current.then(() => step(by)).catch(() => undefined);
    },
    [step],
  );
}

/** The keys of both kinds of ladder. */
export function useLadderKeys(move: (by: number) => void, open: () => void): void {
  const latest = useRef({ move, open });
  latest.current = { move, open };
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === 'j' || event.key === 'ArrowDown') latest.current.move(1);
      else if (event.key === 'k' || event.key === 'ArrowUp') latest.current.move(-1);
      else if (event.key === 'Enter' && !(event.target instanceof HTMLButtonElement)) latest.current.open();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
