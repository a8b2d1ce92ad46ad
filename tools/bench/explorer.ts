/**
 * What a capture of 100 MB costs in the explorer: how long until there is something to see, the longest task of the
 * page's main thread while one scrolls, and how long a filter takes. In headless Chromium, over the server of `roce
 * view`.
 *
 * All figures come from one run. The capture is made by the stack: READs and WRITEs, a packet lost now and then.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { invariant } from 'rocev2/packets';
import { explorerPage } from '../explorer/page-file.ts';
import { serveExplorer } from '../explorer/serve.ts';
import { type Bench, type BenchRow, type BenchSettings, rowFrom, type SkippedBench, scaled } from './bench.ts';
import { transfersCapture } from './transfers-capture.ts';

/** Time until the first packets can be seen. */
export const explorerOpenBench: Bench = {
  name: 'explorer-open',
  title: 'explorer: time to the first view of a 100 MB capture, beside the time until it is analyzed',
  run: async (settings) =>
    withFigures('explorer-open', settings, ({ firstViewMs, analyzedMs }) =>
      rowFrom('explorer-open', { unit: 'ms', peer: 'analyzed' }, [firstViewMs], [analyzedMs]),
    ),
};

/** The longest task of the main thread. */
export const explorerScrollBench: Bench = {
  name: 'explorer-scroll',
  title: 'explorer: longest task of the main thread while a 100 MB capture is scrolled and seen in all views',
  run: async (settings) =>
    withFigures('explorer-scroll', settings, ({ longestTasksMs }) =>
      rowFrom(
        'explorer-scroll',
        { unit: 'ms', peer: 'bound', goal: { sense: '<=', ratio: 1 } },
        longestTasksMs,
        longestTasksMs.map(() => MOST_TASK_MS),
      ),
    ),
};

/** A filter that asks what the analysis knows, and one for which all packets are read again. */
export const explorerFilterBench: Bench = {
  name: 'explorer-filter',
  title: 'explorer: a filter of the analysis over a 100 MB capture, beside one that looks at bytes',
  run: async (settings) =>
    withFigures('explorer-filter', settings, ({ filterMs, bytesFilterMs }) =>
      rowFrom('explorer-filter', { unit: 'ms', peer: 'by bytes' }, filterMs, bytesFilterMs),
    ),
};

interface Figures {
  /** From the click to rows on the screen. */
  readonly firstViewMs: number;
  /** Until the diagnosis is there. */
  readonly analyzedMs: number;
  /** Of each pass over the list; tasks below 50 ms are not reported, and count as 50 ms. */
  readonly longestTasksMs: readonly number[];
  /** From Enter to the count of packets that pass, of each pass. */
  readonly filterMs: readonly number[];
  readonly bytesFilterMs: readonly number[];
}

const measured = new Map<number, Promise<Figures>>();

async function withFigures(
  name: string,
  settings: BenchSettings,
  row: (figures: Figures) => BenchRow,
): Promise<BenchRow | SkippedBench> {
  const program = chromiumProgram();
  if (program === undefined) return { name, skipped: 'there is no chromium in PATH' };
  let figures = measured.get(settings.scale);
  if (figures === undefined) {
    figures = measure(program, settings);
    measured.set(settings.scale, figures);
  }
  return row(await figures);
}

async function measure(program: string, settings: BenchSettings): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'rocev2-bench-'));
  let browser: Browser | undefined;
  try {
    const file = join(folder, 'bench.pcapng');
    writeFileSync(file, await transfersCapture(scaled(ROUNDS, settings)));
    const server = await serveExplorer(await explorerPage(), file);
    browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] });
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const figures = await look(page, server.url, settings.rounds);
    await browser.close();
    await server.close();
    return figures;
  } finally {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function look(page: Page, url: string, passes: number): Promise<Figures> {
  page.setDefaultTimeout(MOST_WAIT_MS);
  await page.addInitScript(WATCH_TASKS);
  const began = performance.now();
  await page.goto(`${url}#view=packets`);
  await page.locator('#row-1').waitFor();
  const firstViewMs = performance.now() - began;
  await page.locator('.progress').waitFor({ state: 'detached' });
  const analyzedMs = performance.now() - began;
  const longestTasksMs: number[] = [];
  for (let pass = 0; pass < passes; pass++) {
    await page.evaluate('longTasks.length = 0');
    await page.evaluate(SCROLL);
    await walk(page);
    const tasks: unknown = await page.evaluate('longTasks');
    invariant(Array.isArray(tasks), 'the page keeps a list of tasks');
    longestTasksMs.push(Math.max(SHORTEST_TOLD_MS, ...tasks.map(Number)));
  }
  const filterMs: number[] = [];
  const bytesFilterMs: number[] = [];
  for (let pass = 0; pass < passes; pass++) {
    filterMs.push(await filterOnce(page, 'retransmission or nak'));
    bytesFilterMs.push(await filterOnce(page, 'dst port 4791 and ackreq'));
  }
  return { firstViewMs, analyzedMs, longestTasksMs, filterMs, bytesFilterMs };
}

/** Through the other views, the ladder at many scales, and back. */
async function walk(page: Page): Promise<void> {
  await page.keyboard.press('3');
  await page.locator('.rung .words').first().waitFor();
  for (const key of '------------++++++++++++++++') await page.keyboard.press(key);
  await page.keyboard.press('4');
  await page.locator('.u-over').waitFor();
  await page.keyboard.press('5');
  await page.getByTestId('rates').locator('.u-over').first().waitFor();
  await page.keyboard.press('2');
  await page.locator('#row-1').waitFor();
}

/** Until the page says how many packets pass. */
async function filterOnce(page: Page, text: string): Promise<number> {
  const box = page.locator('#filter');
  await box.fill(text);
  const began = performance.now();
  await box.press('Enter');
  await page.getByTestId('shown').filter({ hasText: / of / }).waitFor();
  const tookMs = performance.now() - began;
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await page.getByTestId('shown').filter({ hasNotText: / of / }).waitFor();
  return tookMs;
}

function chromiumProgram(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(':')
    .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

const ROUNDS = 1_000;
const MOST_TASK_MS = 200;
const SHORTEST_TOLD_MS = 50;
const MOST_WAIT_MS = 120_000;
/** Runs in the page, before anything else. */
const WATCH_TASKS = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) longTasks.push(entry.duration);
  }).observe({ type: 'longtask' });
`;
/** Runs in the page: down the whole list in two hundred steps, then here and there, a step for each frame drawn. */
const SCROLL = `(async () => {
  const list = document.querySelector('.list');
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const end = list.scrollHeight - list.clientHeight;
  for (let step = 0; step <= 200; step++) {
    list.scrollTop = (end * step) / 200;
    await drawn();
  }
  for (let step = 0; step < 100; step++) {
    list.scrollTop = (end * ((step * 37) % 100)) / 100;
    await drawn();
    list.scrollTop += 60;
    await drawn();
  }
})()`;
