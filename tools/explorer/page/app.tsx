/**
 * The page: which file is open, where one is in it, and the frame around the views.
 *
 * Owns the state that views share, the address, and the keys that hold everywhere.
 */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { News } from '../engine/protocol.ts';
import { Client } from './client.ts';
import { Help } from './help.tsx';
import { Ladder } from './ladder.tsx';
import { type PageLocation, readPlace, TABS, type Tab, writePlace } from './location.ts';
import { Overview } from './overview.tsx';
import { Packets } from './packets.tsx';
import { Playground } from './playground/index.tsx';
import { Rates } from './rates.tsx';
import { Sequence } from './sequence.tsx';
import { sitePage } from './site.ts';
import { type NamedFile, openGiven } from './sources.ts';
import { Start } from './start.tsx';
import { nextTheme, type Theme, useTheme } from './theme.ts';
import { TimeBar } from './time-bar.tsx';
import { isTyping, type ViewProps } from './view.ts';
import { bytes, plural } from './words.ts';

/** The page. */
export function App() {
  const client = useMemo(() => new Client(), []);
  const [news, setNews] = useState<News>();
  const [failure, setFailure] = useState('');
  const [place, go] = usePlace();
  const [help, setHelp] = useState(false);
  const [theme, setTheme] = useTheme();
  const opened = useRef(0);
  const [file, setFile] = useState(0);
  const open = useCallback(
    async (source: Promise<NamedFile> | NamedFile) => {
      try {
        const { name, content } = await source;
        setFailure('');
        setNews(undefined);
        setFile(++opened.current);
        await client.ask('open', { name, content });
      } catch (error) {
        setFailure(error instanceof Error ? error.message : String(error));
      }
    },
    [client],
  );
  useEffect(() => {
    client.onNews = setNews;
    client.onFailure = setFailure;
    const given = openGiven();
    if (given !== undefined) void open(given);
  }, [client, open]);
  const dragging = useDrop((dropped) => {
    go(NOWHERE);
    void open(fromFile(dropped));
  });
  useKeys((key) => {
    const tab = TABS[Number(key) - 1];
    if (tab !== undefined) go({ tab });
    else if (key === '?') setHelp((on) => !on);
    else if (key === 'Escape') setHelp(false);
    else return false;
    return true;
  });
  const problem = failure === '' ? (news?.problem ?? '') : failure;
  return (
    <div class={`app${dragging ? ' dragging' : ''}`}>
      <TopBar
        news={news}
        theme={theme}
        onTheme={() => setTheme(nextTheme(theme))}
        onHelp={() => setHelp(true)}
        onFile={(picked) => {
          go(NOWHERE);
          void open(fromFile(picked));
        }}
      />
      <nav>
        <Tabs tab={place.tab} onTab={(tab) => go({ tab })} />
        {news !== undefined && !news.done ? (
          <div
            class="progress"
            role="progressbar"
            aria-label="Reading"
            aria-valuenow={news.bytesRead}
            aria-valuemax={news.bytes}
            style={{ width: `${(100 * news.bytesRead) / Math.max(1, news.bytes)}%` }}
          />
        ) : null}
        {problem === '' ? null : (
          <div class="banner" role="alert" data-testid="problem">
            {problem}
            {news !== undefined && news.packets > 0
              ? ` The ${plural(news.packets, 'packet')} before that are shown.`
              : ''}
          </div>
        )}
      </nav>
      <main class="view">
        <div class="panel" role="tabpanel" aria-label={TAB_NAMES[place.tab]}>
          {place.tab === 'playground' ? (
            <Playground
              onAnalyze={(source) => {
                go({ ...NOWHERE, tab: 'overview' });
                void open(source);
              }}
            />
          ) : news === undefined ? (
            <Start opening={file > 0 && failure === ''} />
          ) : (
            <View key={file} client={client} news={news} place={place} go={go} />
          )}
        </div>
      </main>
      {help ? <Help onClose={() => setHelp(false)} /> : null}
    </div>
  );
}

/** The views that have a time have the same one, and the strip to choose it above them. */
function View(props: ViewProps) {
  if (props.place.tab === 'overview') return <Overview {...props} />;
  return (
    <div class="timed">
      <TimeBar {...props} />
      <div class="timed-view">
        <TimedView {...props} />
      </div>
    </div>
  );
}

function TimedView(props: ViewProps) {
  switch (props.place.tab) {
    case 'packets':
      return <Packets {...props} />;
    case 'ladder':
      return <Ladder {...props} />;
    case 'sequence':
      return <Sequence {...props} />;
    case 'rates':
      return <Rates {...props} />;
    default:
      return null;
  }
}

interface TopBarProps {
  readonly news: News | undefined;
  readonly theme: Theme;
  readonly onTheme: () => void;
  readonly onHelp: () => void;
  readonly onFile: (file: File) => void;
}

function TopBar({ news, theme, onTheme, onHelp, onFile }: TopBarProps) {
  const input = useRef<HTMLInputElement>(null);
  const home = sitePage('index.html');
  return (
    <header class="bar">
      <h1>{home === undefined ? 'rocev2' : <a href={home}>rocev2</a>} explorer</h1>
      <span class="file" data-testid="file">
        {news === undefined ? '' : `${news.name}, ${bytes(news.bytes)}, ${plural(news.packets, 'packet')}`}
      </span>
      <button type="button" onClick={() => input.current?.click()}>
        Open file
      </button>
      <button type="button" onClick={onTheme} title="Colours: as the system has them, light or dark">
        {theme === 'auto' ? 'Auto' : theme === 'light' ? 'Light' : 'Dark'}
      </button>
      <button type="button" onClick={onHelp} aria-label="Help">
        ?
      </button>
      <input
        type="file"
        hidden
        ref={input}
        data-testid="picker"
        onChange={(event) => {
          const picked = event.currentTarget.files?.[0];
          if (picked !== undefined) onFile(picked);
          event.currentTarget.value = '';
        }}
      />
    </header>
  );
}

function Tabs({ tab, onTab }: { readonly tab: Tab; readonly onTab: (tab: Tab) => void }) {
  const step = (event: KeyboardEvent, by: number): void => {
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length];
    if (next !== undefined) onTab(next);
    const { parentElement } = event.currentTarget as HTMLElement;
    const buttons = parentElement?.querySelectorAll('button');
    buttons?.item((TABS.indexOf(tab) + by + TABS.length) % TABS.length).focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views">
      {TABS.map((name, index) => (
        <button
          type="button"
          key={name}
          role="tab"
          aria-selected={name === tab}
          tabIndex={name === tab ? 0 : -1}
          title={`Key ${index + 1}`}
          onClick={() => onTab(name)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') step(event, 1);
            else if (event.key === 'ArrowLeft') step(event, -1);
          }}
        >
          {TAB_NAMES[name]}
        </button>
      ))}
    </div>
  );
}

/**
 * The place in the address, and how to go elsewhere. Steps within a view replace the address, going to another view
 * adds to the history.
 */
function usePlace(): [PageLocation, (change: Partial<PageLocation>) => void] {
  const [place, setPlace] = useState(() => readPlace(location.hash));
  const current = useRef(place);
  const go = useCallback((change: Partial<PageLocation>) => {
    const next = { ...current.current, ...change };
    const hash = writePlace(next, location.hash);
    const url = hash === '' ? `${location.pathname}${location.search}` : hash;
    if (next.tab === current.current.tab) history.replaceState(null, '', url);
    else history.pushState(null, '', url);
    current.current = next;
    setPlace(next);
  }, []);
  useLayoutEffect(() => {
    const follow = (): void => {
      current.current = readPlace(location.hash);
      setPlace(current.current);
    };
    addEventListener('popstate', follow);
    addEventListener('hashchange', follow);
    return () => {
      removeEventListener('popstate', follow);
      removeEventListener('hashchange', follow);
    };
  }, []);
  return [place, go];
}

/** Keys that hold everywhere but where one types. What one sees takes its keys: hence before the browser paints. */
function useKeys(take: (key: string) => boolean): void {
  const taker = useRef(take);
  taker.current = take;
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || (isTyping(event.target) && event.key !== 'Escape')) return;
      if (taker.current(event.key)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

function useDrop(take: (file: File) => void): boolean {
  const taker = useRef(take);
  taker.current = take;
  const [over, setOver] = useState(false);
  useLayoutEffect(() => {
    const drag = (event: DragEvent): void => {
      event.preventDefault();
      setOver(event.type === 'dragover');
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file !== undefined) taker.current(file);
    };
    addEventListener('dragover', drag);
    addEventListener('dragleave', drag);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', drag);
      removeEventListener('dragleave', drag);
      removeEventListener('drop', drop);
    };
  }, []);
  return over;
}

function fromFile(file: File): NamedFile {
  return { name: file.name, content: file };
}

/** Of another file nothing is chosen. */
const NOWHERE = { packet: 0, conversation: 0, fromNs: 0, toNs: 0 } as const;
const TAB_NAMES: Readonly<Record<Tab, string>> = {
  overview: 'Overview',
  packets: 'Packets',
  ladder: 'Ladder',
  sequence: 'Sequence',
  rates: 'Rates',
  playground: 'Playground',
};
