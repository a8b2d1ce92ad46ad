/**
 * Goal: the browser entry needs nothing of Node: a page made of it by a bundler without shims runs a WRITE between two
 * devices. Method: esbuild bundles a small program; it runs in a context that has the language and nothing else, and in
 * a real Chromium.
 */
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { describeWith } from '../support/need.ts';
import { launchChromium } from '../tools/explorer/browser.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Leaves what the second device's memory holds after the WRITE in `globalThis.written`. */
const PROGRAM = `
import { Access, attachDevice, WcStatus, World, WrOpcode } from './src/browser.ts';

const world = new World({ seed: 1 });
const [server, client] = ['10.0.0.1', '10.0.0.2'].map((address) => {
  const device = attachDevice(world, address, { addresses: [address + '/24'] });
  const pd = device.allocPd();
  const cq = device.createCq(4);
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  return { device, cq, qp, mr: pd.regMr(4, { access: Access.LocalWrite | Access.RemoteWrite }) };
});
const listener = server.device.cm.listen(7471);

async function serve() {
  const { value: request } = await listener.next();
  await request.accept({ qp: server.qp });
}

async function write() {
  const { mr, qp, cq } = client;
  await client.device.cm.connect({ address: '10.0.0.1', port: 7471, qp });
  mr.bytes.set([1, 2, 3, 4]);
  const { iova: remoteAddr, rkey } = server.mr;
  qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr, rkey });
  return (await cq.next()).value.status;
}

world.run(Promise.all([serve(), write()])).then(
  ([, status]) => (globalThis.written = { status: status === WcStatus.Success, bytes: [...server.mr.bytes] }),
  (error) => (globalThis.written = error.stack),
);
`;

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM, resolveDir: ROOT, sourcefile: 'page.js' },
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2024',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

const WRITTEN = { status: true, bytes: [1, 2, 3, 4] };

it('runs where there is the language and nothing else', async () => {
  const text = await bundle();
  console.info(`the browser entry and a program of forty lines: ${(text.length / 1024).toFixed(0)} KiB minified`);
  const context = createContext({});
  runInContext(text, context);
  await expect.poll(() => context['written']).toEqual(WRITTEN);
});

describeWith('chromium', 'in a browser', () => {
  it('runs in a page', async () => {
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.addScriptTag({ content: await bundle() });
      const written = await page.waitForFunction('globalThis.written');
      expect(await written.jsonValue()).toEqual(WRITTEN);
    } finally {
      await browser.close();
    }
  });
});
