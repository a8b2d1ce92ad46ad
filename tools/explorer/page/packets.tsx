/**
 * The view of packets: filter, list, and the packet that is selected.
 *
 * Owns the selection and its keys.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { FilterResult, PacketDetail } from '../engine/protocol.ts';
import type { Client } from './client.ts';
import { FilterBox } from './filter-box.tsx';
import { PacketList } from './packet-list.tsx';
import { PacketView } from './packet-view.tsx';
import { isTyping, type ViewProps } from './view.ts';

/** The view. */
export function Packets({ client, news, place, go }: ViewProps) {
  const { result, filtered } = useFilter(client, place.filter);
  const [reveal, setReveal] = useState<{ readonly row: number }>();
  const [detail, setDetail] = useState<PacketDetail | null>(null);
  const row = useRef(-1);
  // Key steps so far, and those whose packet is still requested: while there are any, they decide the position.
  const steps = useRef({ made: 0, pending: 0 });
  const total = place.filter === '' || result === undefined ? news.shown : Math.max(result.shown, news.shown);
  // Where the selected packet stands, whenever it, the filter or the file changes; a packet that is not read yet is
  // waited for.
  const known = news.packets >= place.packet;
  // The first packet that is looked into makes the list smaller, and the line chosen may be out of sight.
  const hasDetail = detail !== null;
  useEffect(() => {
    if (place.packet === 0 || !known) return undefined;
    let stale = steps.current.pending > 0;
    const { made } = steps.current;
    client.look('position', { number: place.packet }, (answer) => {
      if (stale || steps.current.made !== made) return;
      row.current = answer;
      setReveal({ row: answer });
    });
    return () => {
      stale = true;
    };
  }, [client, place.packet, result, known, hasDetail]);
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
  const move = useCallback(
    async (to: number): Promise<void> => {
      const wanted = Math.max(0, Math.min(total - 1, to));
      row.current = wanted;
      steps.current.made++;
      steps.current.pending++;
      const { rows } = await client.ask('rows', { from: wanted, count: 1 }).finally(() => steps.current.pending--);
      const first = rows[0];
      if (first !== undefined && row.current === wanted) go({ packet: first.number });
    },
    [client, total, go],
  );
  useListKeys(row, total, move, () => {
    if (detail !== null && detail.refersTo > 0) go({ packet: detail.refersTo });
  });
  const findings = (detail?.findings ?? []).map((index) => news.analysis?.findings[index]?.text ?? '');
  return (
    <div class={hasDetail ? 'packets' : 'packets none'}>
      <FilterBox
        client={client}
        text={place.filter}
        result={result}
        packets={news.packets}
        onFilter={(filter) => go({ filter })}
      />
      <PacketList
        client={client}
        total={total}
        version={`${place.filter} ${filtered} ${news.done ? 'all' : Math.min(news.packets, 1000)} ${total}`}
        selected={place.packet}
        reveal={reveal}
        onSelect={(number, at) => {
          row.current = at;
          go({ packet: number });
        }}
      />
      {detail === null ? (
        <section class="packet quiet">Choose a packet: with the mouse, or with j and k.</section>
      ) : (
        <PacketView detail={detail} findings={findings} onPacket={(packet) => go({ packet })} />
      )}
    </div>
  );
}

/** The worker's answers to a filter, and how many there have been: rows may be others after each. */
function useFilter(
  client: Client,
  text: string,
): { readonly result: FilterResult | undefined; readonly filtered: number } {
  const [state, setState] = useState<{ readonly result: FilterResult | undefined; readonly filtered: number }>({
    result: undefined,
    filtered: 0,
  });
  useEffect(() => {
    let stale = false;
    client.look('filter', { text }, (result) => {
      if (!stale) setState(({ filtered }) => ({ result, filtered: filtered + 1 }));
    });
    return () => {
      stale = true;
    };
  }, [client, text]);
  return state;
}

function useListKeys(
  row: { readonly current: number },
  total: number,
  move: (to: number) => Promise<void>,
  follow: () => void,
): void {
  const latest = useRef({ total, move, follow });
  latest.current = { total, move, follow };
  useEffect(() => {
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
      const step = steps[event.key];
      if (step !== undefined) void latest.current.move(row.current + step);
      else if (event.key === 'g') latest.current.follow();
      else if (event.key === '/') document.getElementById('filter')?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [row]);
}

const PAGE = 20;
