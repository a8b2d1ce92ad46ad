/**
 * Goal: what `npm pack` makes of the library and of the tools are packages: they install into empty folders, the
 * command runs, every export has types for every way of resolving modules that counts, and the examples run there as
 * they do here. Method: pack, install and use them as a stranger would; publint and attw look at the tarballs too.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesBelow, leaksIn, phrasesOf } from '../support/embargo.ts';
import { describeUnless, whyMissing } from '../support/need.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const TOOLS_MANIFEST = JSON.parse(readFileSync(join(ROOT, 'tools/package.json'), 'utf8'));
const ENVIRONMENT = { ...process.env, NO_COLOR: '1' };
const ENTRIES: readonly string[] = Object.keys(MANIFEST.exports)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace('.', 'rocev2'));

/** Uses something of every export, and is wrong where the comments say so: types that are `any` would not notice. */
const USE = `
import { openDevice, type RdmaDevice, World } from 'rocev2';
import { Device } from 'rocev2/browser';
import { invariant } from 'rocev2/errors';
import { type WireRule } from 'rocev2/faults';
import { groupMac } from 'rocev2/host';
import { installBulkCrc32 } from 'rocev2/crc32';
import { openLink } from 'rocev2/node';
import { Prng, type SimulatedNetwork } from 'rocev2/sim';
import { crc32, Op } from 'rocev2/packets';
import { describePacket } from 'rocev2/packets/kit';
import { LAYOUTS } from 'rocev2/packets/layouts';
import { cmKind } from 'rocev2/packets/management';
import { readEthernet } from 'rocev2/packets/network';
import { type CapturedPacket, readCapture } from 'rocev2/pcap';
import { compileFilter } from 'rocev2/pcap/filter';
import { IcrcState } from 'rocev2/pcap/read';
import { fixedPoint, PAPER_FLUID } from 'rocev2/fluid';
import { RSocket } from 'rocev2/rsockets';
import { MemoryBackend } from 'rocev2/nvme';
import { workerSource } from 'rocev2/thread';
import { type TraceEvent, TraceReader } from 'rocev2/trace';
import { ackTimeoutNs, QpState } from 'rocev2/transport';
import { DEVICE_NAME } from 'rocev2/uverbs';

export const now: number = new World({ seed: 1 }).now;
export const network: SimulatedNetwork = new World({ seed: new Prng(1).seed }).network;
export const routine: string = installBulkCrc32();
export const state: 0 = QpState.Reset;
export const numbers: number[] = [crc32(new Uint8Array(4)), Op.SendOnly, ackTimeoutNs(14)];
export const layout: object = LAYOUTS;
export const packets: CapturedPacket[] = [...readCapture(new Uint8Array(24))];
export const queueBytes: number | undefined = fixedPoint(PAPER_FLUID).queueBytes;
export const event: TraceEvent | undefined = new TraceReader().next();
export const open: typeof RSocket.connect = RSocket.connect;
export const disk: number = new MemoryBackend(512).bytes;
export const named: 'rxe0' = DEVICE_NAME;
export const rules: readonly WireRule[] = [];
export const functions = [openDevice, Device, groupMac, openLink, describePacket, compileFilter, workerSource, cmKind, readEthernet, invariant];
export const icrcStates: readonly string[] = Object.keys(IcrcState);
export const addresses = (device: RdmaDevice): string[] => device.addresses.map((prefix) => prefix.toString());
// @ts-expect-error a seed is a number
new World({ seed: 'one' });
// @ts-expect-error there is nothing of that name
import { nothing } from 'rocev2/packets';
// @ts-expect-error what is not exported cannot be reached
import 'rocev2/dist/src/device/device.js';
`;

/** A line that asks for a source map. */
const MAP = '\n//# sourceMappingURL=';
const STRICT = { noEmit: true, strict: true, skipLibCheck: false, target: 'es2024', lib: ['es2024'], types: [] };
/** Both compilers that people have, and both ways to resolve that know \`exports\`. */
const COMPILERS = ['node_modules/typescript/bin/tsc', 'typedoc/node_modules/typescript/bin/tsc'];
const RESOLUTIONS = [
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const;

// The compiler wants the types of koffi; what the package depends on has to come from somewhere.
describeUnless(whyMissing('koffi') ?? (await registryMissing()), 'the package', () => {
  let directory = '';
  let tarball = '';
  let toolsTarball = '';
  /** With both packages. */
  let folder = '';

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'roce-package-'));
    folder = join(directory, 'empty');
    mkdirSync(folder);
    await succeeds(run('npm', ['pack', '--pack-destination', directory], ROOT));
    await succeeds(run('npm', ['pack', '--workspace', 'tools', '--pack-destination', directory], ROOT));
    tarball = join(directory, `rocev2-${MANIFEST.version}.tgz`);
    toolsTarball = join(directory, `rocev2-tools-${TOOLS_MANIFEST.version}.tgz`);
    // Optional packages are compiled where they are installed, and nothing here needs one.
    await succeeds(run('npm', ['install', '--prefer-offline', '--omit=optional', tarball, toolsTarball], folder));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('runs the demo in an empty folder', async () => {
    const { stdout } = await succeeds(run('npx', ['--no-install', 'roce', 'demo'], folder));
    expect(stdout).toContain('RETRANSMIT');
    expect(existsSync(join(folder, 'demo.pcapng'))).toBe(true);
  });

  it('brings at most four packages when the library alone is installed', async () => {
    const alone = join(directory, 'alone');
    mkdirSync(alone);
    await succeeds(run('npm', ['install', '--prefer-offline', tarball], alone));
    const { packages } = JSON.parse(readFileSync(join(alone, 'package-lock.json'), 'utf8'));
    const installed = Object.keys(packages).filter((path) => path !== '' && existsSync(join(alone, path)));
    expect(installed.sort()).toEqual(
      ['buffer-layout', 'ipaddr.js', 'pure-rand', 'rocev2'].map((name) => `node_modules/${name}`),
    );
  });

  it('has one version for the library and the tools, which ask for just that', () => {
    expect(TOOLS_MANIFEST.version).toBe(MANIFEST.version);
    expect(TOOLS_MANIFEST.peerDependencies).toEqual({ rocev2: MANIFEST.version });
  });

  it('ships programs, documents and examples, and nothing that a user cannot use', () => {
    const installed = join(folder, 'node_modules/rocev2');
    expect(readdirSync(installed).sort()).toEqual(
      ['LICENSE', 'README.md', 'SECURITY.md', 'dist', 'examples', 'package.json'].sort(),
    );
    expect(readdirSync(join(installed, 'dist')).sort()).toEqual(['packets', 'pcap', 'src', 'transport']);
    const tools = join(folder, 'node_modules/rocev2-tools');
    expect(readdirSync(tools).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    expect(readdirSync(join(tools, 'dist'))).toContain('roce.js');
    for (const ours of ['bench', 'site', 'soak']) expect(readdirSync(join(tools, 'dist'))).not.toContain(ours);
  });

  it('is small: below a megabyte packed, without maps to sources that are not there', () => {
    const [library, tools] = [tarball, toolsTarball].map((file) => statSync(file).size);
    console.log(`packed: rocev2 ${library} bytes, rocev2-tools ${tools} bytes`);
    expect(library).toBeLessThan(1e6);
    for (const name of ['rocev2', 'rocev2-tools']) {
      const installed = join(folder, 'node_modules', name);
      const files = filesBelow(installed);
      expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
      const asking = files.filter(
        (file) => file.endsWith('.js') && readFileSync(join(installed, file), 'utf8').includes(MAP),
      );
      expect(asking, name).toEqual([]);
    }
    // What no entry leads to has no declarations: no compiler could ask for them.
    const detectors = readdirSync(join(folder, 'node_modules/rocev2/dist/pcap/analysis/detectors'));
    expect(detectors.length).toBeGreaterThan(20);
    expect(detectors.filter((file) => file.endsWith('.d.ts'))).toEqual(['index.d.ts']);
    // Editors show what declarations say.
    const declared = readFileSync(join(folder, 'node_modules/rocev2/dist/packets/psn.d.ts'), 'utf8');
    expect(declared).toContain('Signed distance from');
    // What a file owns is of use to its maintainers only.
    expect(declared).not.toContain('Owns');
    expect(readFileSync(join(folder, 'node_modules/rocev2/dist/transport/index.d.ts'), 'utf8')).toContain('@module');
  });

  it('holds nothing that is not published yet, in no file', () => {
    const words = join(ROOT, 'embargo/words.txt');
    // A checkout without that folder has no list, and nothing that could leak.
    const phrases = existsSync(words) ? phrasesOf(readFileSync(words, 'utf8')) : [];
    for (const name of ['rocev2', 'rocev2-tools']) {
      const installed = join(folder, 'node_modules', name);
      const files = filesBelow(installed);
      expect(files.length, name).toBeGreaterThan(300);
      expect(files.filter((file) => file.includes('embargo'))).toEqual([]);
      expect(leaksIn(installed, files, phrases)).toEqual([]);
    }
  });

  it('can be imported by each of its names', async () => {
    const imports = ENTRIES.map((entry) => `console.log(Object.keys(await import('${entry}')).length > 0);`).join('\n');
    const { stdout } = await succeeds(run(process.execPath, ['--input-type=module', '--eval', imports], folder));
    expect(stdout).toBe('true\n'.repeat(ENTRIES.length));
    for (const entry of ENTRIES) expect(USE).toContain(`'${entry}'`);
  });

  describe.each(COMPILERS)('is typed for %s', (compiler) => {
    it.each(RESOLUTIONS)('with module %s resolved by %s, without types of anybody else', async (module, resolution) => {
      const project = join(directory, `${compiler.split('/')[0]}-${resolution}`);
      cpSync(folder, project, { recursive: true });
      writeFileSync(join(project, 'use.mts'), USE);
      const compilerOptions = { ...STRICT, module, moduleResolution: resolution };
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.mts'] }));
      await succeeds(run(process.execPath, [join(ROOT, compiler), '--project', project], project));
    });
  });

  it('has examples that run where it is installed', async () => {
    const args = ['--import', import.meta.resolve('tsx'), 'node_modules/rocev2/examples/echo.ts'];
    const { stdout } = await succeeds(run(process.execPath, args, folder));
    expect(stdout).toContain('client: goodbye');
  });

  it('has nothing that publint complains of in either package', async () => {
    const publint = join(ROOT, 'node_modules/.bin/publint');
    for (const packed of [tarball, toolsTarball]) {
      const { stdout } = await succeeds(run(publint, [packed, '--strict'], ROOT));
      expect(stdout).toContain('All good!');
    }
  });

  it('has types that attw resolves for every entry', async () => {
    const options = ['--profile', 'esm-only', '--format', 'ascii', '--no-emoji'];
    const { stdout } = await succeeds(run(join(ROOT, 'node_modules/.bin/attw'), [tarball, ...options], ROOT));
    expect(stdout.split('bundler: OK').length - 1).toBe(ENTRIES.length + 1);
  });
});

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Not spawnSync: it would keep the test runner from hearing of this worker for as long as npm takes. */
function run(command: string, args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
    const outputs = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        outputs[name] += text;
      });
    }
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...outputs }));
  });
}

async function succeeds(running: Promise<Ended>): Promise<Ended> {
  const ended = await running;
  expect(ended.status, `${ended.stdout}${ended.stderr}`).toBe(0);
  return ended;
}

/** Why neither npm's cache nor a registry gives what the package depends on; undefined where one does. */
async function registryMissing(): Promise<string | undefined> {
  const [name, version] = Object.entries(MANIFEST.dependencies)[0] ?? [];
  const { status, stderr } = await run('npm', ['view', `${name}@${version}`, 'version', '--prefer-offline'], ROOT);
  return status === 0 ? undefined : `npm cannot get ${name}: ${stderr.split('\n').at(-2)}`;
}
