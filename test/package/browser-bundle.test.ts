/**
 * Goal: the browser entry needs nothing of Node: a page made of it by a bundler without shims runs a WRITE between two
 * devices, of packets whose ICRC WebAssembly computes. Method: esbuild bundles a small program; it runs in a context that has the language and nothing else, and in
 * a real Chromium.
 */
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { describeWith } from '../support/need.ts';
import { launchChromium } from '../tools/explorer/browser.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Leaves in `globalThis.written` what the second device's memory holds after the WRITE, with its CRC-32, and whether
 * that was computed by WebAssembly.
 */
const PROGRAM = `
import { Access, attachDevice, WcStatus, World, WrOpcode } from './src/browser.ts';
import { crc32, hasWasmCrc32 } from './packets/crc32.ts';

const world = new World({ seed: 1 });
const [server, client] = ['10.0.0.1', '10.0.0.2'].map((address) => {
  const device = attachDevice(world, address, { addresses: [address + '/24'] });
  const pd = device.allocPd();
  const cq = device.createCq(4);
  const qp = pd.createQp({ sendCq: cq, recvCq: cq });
  return { device, cq, qp, mr: pd.regMr(4096, { access: Access.LocalWrite | Access.RemoteWrite }) };
});
const listener = server.device.cm.listen(7471);

async function serve() {
  const { value: request } = await listener.next();
  await request.accept({ qp: server.qp });
}

async function write() {
  const { mr, qp, cq } = client;
  await client.device.cm.connect({ address: '10.0.0.1', port: 7471, qp });
  mr.bytes.forEach((_, at) => (mr.bytes[at] = (at * 7) >> 3));
  const { iova: remoteAddr, rkey } = server.mr;
  qp.postSend({ wrId: 1, opcode: WrOpcode.RdmaWrite, sges: [{ mr }], remoteAddr, rkey });
  return (await cq.next()).value.status;
}

world.run(Promise.all([serve(), write()])).then(
  ([, status]) => {
    const { bytes } = server.mr;
    const success = status === WcStatus.Success;
    globalThis.written = { success, bytes: [...bytes], crc: crc32(bytes), isWasm: hasWasmCrc32() };
  },
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

const bytes = Array.from({ length: 4096 }, (_, at) => ((at * 7) >> 3) & 0xff);
const WRITTEN = { success: true, bytes, crc: bitByBit(bytes), isWasm: true };

/** CRC-32 as its definition has it. */
function bitByBit(of: readonly number[]): number {
  let register = 0xff_ff_ff_ff;
  for (const byte of of) {
    register ^= byte;
    for (let bit = 0; bit < 8; bit++) register = (register >>> 1) ^ ((register & 1) === 1 ? 0xed_b8_83_20 : 0);
  }
  return ~register >>> 0;
}

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
