/**
 * A real Chromium, without a window, for tests of the page: one browser and one server for a test file, a fresh page
 * for each test.
 *
 * What a page asks of the network, writes to its console or throws is kept, so that a test can say there was nothing.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { explorerPage } from '../../../tools/explorer/page-file.ts';
import { type ExplorerHttpServer, serveExplorer } from '../../../tools/explorer/serve.ts';
import { chromiumPath } from '../../support/need.ts';

/** How a page is opened. */
export interface PageOptions {
  /** In the place of the server's. */
  readonly url?: string;
  /** Behind the `#`. */
  readonly hash?: string;
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  /** Frames are painted late, and the worker's answers come late: as on a machine that is busy with something else. */
  readonly late?: boolean;
}

/** Pages of the explorer with one file. */
export class ExplorerBrowser {
  /** What pages complained about, all of them. */
  readonly complaints: string[] = [];
  /** Addresses that pages asked for, other than the page itself and its file. */
  readonly strangers: string[] = [];
  readonly #browser: Browser;
  readonly #server: ExplorerHttpServer;

  private constructor(browser: Browser, server: ExplorerHttpServer) {
    this.#browser = browser;
    this.#server = server;
  }

  static async start(file?: string): Promise<ExplorerBrowser> {
    const server = await serveExplorer(await explorerPage(), file);
    return new ExplorerBrowser(await launchChromium(), server);
  }

  /** A fresh page; the file is open and analyzed when this resolves, where there is one. */
  async open({
    url = this.#server.url,
    hash = '',
    width = 1280,
    height = 800,
    dark = false,
    late = false,
  }: PageOptions = {}): Promise<Page> {
    const page = await this.#browser.newPage({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
    });
    page.setDefaultTimeout(WAIT_MS);
    if (late) await page.addInitScript(LATE);
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    page.on('request', (request) => {
      const asked = request.url();
      const own = asked.startsWith(this.origin) || asked.split('#')[0] === url.split('#')[0];
      if (!own && !asked.startsWith('blob:') && !asked.startsWith('data:')) this.strangers.push(asked);
    });
    await page.goto(`${url}${hash === '' ? '' : `#${hash}`}`);
    return page;
  }

  get origin(): string {
    return new URL(this.#server.url).origin;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Process ids of the browser: its own, and those of pages. */
  async processes(): Promise<number[]> {
    const session = await this.#browser.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.map(({ id }) => id);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#server.close();
  }
}

/** A browser that the caller closes. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath() ?? '', args: ['--no-sandbox', '--disable-gpu'] });
}

/** Keeps a picture of the page as `explorer-out/NAME.png`. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

const PICTURES = fileURLToPath(new URL('../../../explorer-out', import.meta.url));
const WAIT_MS = 20_000;
const LATE = `{
  const [timer, Prompt] = [setTimeout, Worker];
  window.requestAnimationFrame = (paint) => timer(() => paint(performance.now()), 600);
  window.cancelAnimationFrame = (handle) => clearTimeout(handle);
  window.setTimeout = (action, delay, ...rest) => timer(action, Math.max(delay ?? 0, 600), ...rest);
  window.Worker = class extends Prompt {
    set onmessage(take) {
      super.onmessage = (event) => timer(() => take(event), 300);
    }
  };
}`;
