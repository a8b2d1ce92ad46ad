/**
 * The view of packets: filter, list, and the packet that is selected.
 *
 * Owns the selection and its keys.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FilterResult, PacketDetail, RowSort } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { useColumns } from './columns.ts';
import { useMenu } from './context-menu.tsx';
import { FilterBox } from './filter-box.tsx';
import { fieldItems, rowItems } from './filter-menu.ts';
import { ColumnMenu } from './list-head.tsx';
import { PacketList } from './packet-list.tsx';
import { PacketView } from './packet-view.tsx';
import { saveFile } from './save.ts';
import { isTyping, type ViewProps } from './view.ts';

/** The view. */
export function Packets({ client, news, place, go }: ViewProps) {
  const { result, answered, filtered } = useFilter(client, place);
  const [detail, setDetail] = useState<PacketDetail | null>(null);
  const all = place.filter === '' && place.toNs <= place.fromNs;
  const total = all || result === undefined ? news.shown : Math.max(result.shown, news.shown);
  // A packet that is not read yet is waited for.
  const known = news.packets >= place.packet;
  // The first packet that is looked into makes the list smaller, and the line chosen may be out of sight.
  const hasDetail = detail !== null;
  useEffect(() => {
    if (place.packet === 0 || !known) {
      setDetail(null);
      return undefined;
    }
    let stale = false;
    client.look('packet', { number: place.packet }, (answer) => {
      if (!stale) setDetail(answer);
    });
    return () => {
      stale = true;
    };
  }, [client, place.packet, known, news.done]);
  const [choice, onChoice] = useColumns();
  const heads = { choice, onChoice, sort: place.sort, onSort: (sort: RowSort | undefined) => go({ sort }) };
  const order = `${result?.shown} ${filtered} ${place.sort?.column} ${place.sort?.descending} ${news.done}`;
  const { reveal, mover, chooseAt } = useRow(client, { place, go, total, known, order, hasDetail });
  useListKeys(mover, () => {
    if (detail !== null && detail.refersTo > 0) go({ packet: detail.refersTo });
  });
  const [menu, openMenu] = useMenu();
  const onFilter = (filter: string): void => go({ filter });
  const save = async (numbers?: readonly number[]): Promise<void> => {
    const file = await client.ask('export', numbers === undefined ? {} : { numbers });
    saveFile(file, exportName(news.name, numbers, place.filter));
  };
  const findings = (detail?.findings ?? []).map((index) => news.analysis?.findings[index]?.text ?? '');
  return (
    <div class={hasDetail ? 'packets' : 'packets none'}>
      <FilterBox
        client={client}
        text={place.filter}
        all={all}
        result={answered === place.filter ? result : undefined}
        packets={news.packets}
        onFilter={onFilter}
      >
        <button
          type="button"
          title="The packets of the list as a pcapng file"
          disabled={!news.done || total === 0}
          onClick={() => void save()}
        >
          Save pcapng
        </button>
        <ColumnMenu choice={choice} onChoice={onChoice} />
      </FilterBox>
      <PacketList
        client={client}
        total={total}
        version={`${place.filter} ${place.fromNs} ${place.toNs} ${filtered} ${news.done ? 'all' : Math.min(news.packets, 1000)} ${total}`}
        selected={place.packet}
        {...heads}
        reveal={reveal}
        onSelect={(number, at) => {
          chooseAt(at);
          go({ packet: number });
        }}
        onMenu={(event, row, column) => openMenu(event, rowItems(row, column, place.filter, onFilter, save))}
      />
      {detail === null ? (
        <section class="packet quiet">Choose a packet: with the mouse, or with j and k.</section>
      ) : (
        <PacketView
          detail={detail}
          findings={findings}
          onPacket={(packet) => go({ packet })}
          onMenu={(event, field, index) =>
            openMenu(event, fieldItems(client, detail.row.number, field, index, place.filter, onFilter))
          }
        />
      )}
      {menu}
    </div>
  );
}

/** "capture-packet-5.pcapng", "capture-filtered.pcapng". */
function exportName(name: string, numbers: readonly number[] | undefined, filter: string): string {
  const stem = name.replace(/\.[^.]*$/, '');
  return `${stem}${numbers === undefined ? (filter === '' ? '' : '-filtered') : `-packet-${numbers[0]}`}.pcapng`;
}

/** Another `order`, another row for the same packet. */
interface RowProps extends Pick<ViewProps, 'place' | 'go'> {
  readonly total: number;
  readonly known: boolean;
  readonly order: string;
  readonly hasDetail: boolean;
}

/** The row of the selected packet: brought into sight when it, the filter or the file changes, and where keys go. */
function useRow(client: Client, { place, go, total, known, order, hasDetail }: RowProps) {
  const [reveal, setReveal] = useState<{ readonly row: number }>();
  const row = useRef(-1);
  const sorting = useRef<{ readonly sort?: RowSort }>({});
  sorting.current = place.sort === undefined ? {} : { sort: place.sort };
  // Key steps whose packet is still requested: while there are any, they decide the position. And key steps that wait
  // for the worker to say where the selected packet stands; undefined: that is known.
  const steps = useRef<{ pending: number; waiting: number[] | undefined }>({ pending: 0, waiting: undefined });
  const move = useCallback(
    async (step: number): Promise<void> => {
      if (steps.current.waiting !== undefined) {
        steps.current.waiting.push(step);
        return;
      }
      const wanted = Math.max(0, Math.min(total - 1, row.current + step));
      row.current = wanted;
      steps.current.pending++;
      const { rows } = await client
        .ask('rows', { from: wanted, count: 1, ...sorting.current })
        .finally(() => steps.current.pending--);
      const first = rows[0];
      if (first !== undefined && row.current === wanted) go({ packet: first.number });
    },
    [client, total, go],
  );
  const mover = useRef(move);
  mover.current = move;
  useLayoutEffect(() => {
    if (place.packet === 0 || !known) {
      steps.current.waiting = undefined;
      return undefined;
    }
    if (steps.current.pending > 0) return undefined;
    let stale = false;
    steps.current.waiting ??= [];
    client.look('position', { number: place.packet, ...sorting.current }, (answer) => {
      if (stale) return;
      row.current = answer;
      setReveal({ row: answer });
      const waiting = steps.current.waiting ?? [];
      steps.current.waiting = undefined;
      for (const step of waiting) void mover.current(step);
    });
    return () => {
      stale = true;
    };
  }, [client, place.packet, order, known, hasDetail]);
  const chooseAt = useCallback((at: number) => {
    row.current = at;
  }, []);
  return { reveal, mover, chooseAt };
}

interface Filtered {
  readonly result: FilterResult | undefined;
  /** The text that the result is of, which may not be the newest. */
  readonly answered: string;
  /** How many answers there have been: rows may be others after each. */
  readonly filtered: number;
}

/** The worker's answers to a filter. */
function useFilter(client: Client, { filter: text, fromNs, toNs }: ViewProps['place']): Filtered {
  const [state, setState] = useState<Filtered>({ result: undefined, answered: '', filtered: 0 });
  useEffect(() => {
    let stale = false;
    client.look('filter', { text, fromNs, toNs }, (result) => {
      if (!stale) setState(({ filtered }) => ({ result, answered: text, filtered: filtered + 1 }));
    });
    return () => {
      stale = true;
    };
  }, [client, text, fromNs, toNs]);
  return state;
}

function useListKeys(mover: { readonly current: (step: number) => Promise<void> }, follow: () => void): void {
  const follower = useRef(follow);
  follower.current = follow;
  // Before the browser paints: a key that is pressed as soon as the list is seen counts.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const steps: Readonly<Record<string, number>> = {
        j: 1,
        ArrowDown: 1,
        k: -1,
        ArrowUp: -1,
        PageDown: PAGE,
        PageUp: -PAGE,
        Home: Number.NEGATIVE_INFINITY,
        End: Number.POSITIVE_INFINITY,
      };
      // What scrolls by itself keeps the keys that scroll.
      const inBytes = event.target instanceof Element && event.target.matches('.hex');
      const step = inBytes && event.key.length > 1 ? undefined : steps[event.key];
      if (step !== undefined) void mover.current(step);
      else if (event.key === 'g') follower.current();
      else if (event.key === '/') document.getElementById('filter')?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [mover]);
}

const PAGE = 20;
