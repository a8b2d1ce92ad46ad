/**
 * Goal: what docs/rdma-in-ci.md says works as it is written there. Method: the lines of its image and of its examples
 * are read from the page and followed, in a root file system of Debian 12 that mmdebstrap makes, with Node 22 in it;
 * the packages are those of `npm pack`.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeNetnsPair, type NetnsPair } from '../../tools/netns.ts';
import { describeWith } from '../support/need.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(REPOSITORY, 'docs/rdma-in-ci.md'), 'utf8');
/** The lines of the image, each with those that continue it, by their first word. */
const IMAGE = (/```dockerfile\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? '')
  .replaceAll(/\\\n\s*/g, ' ')
  .trim()
  .split('\n')
  .map((line) => ({ word: line.slice(0, line.indexOf(' ')), rest: line.slice(line.indexOf(' ') + 1) }));
const EXAMPLES = [...PAGE.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text = '']) => text.trim().split('\n'));

const imageLine = (word: string, part = ''): string =>
  IMAGE.find((line) => line.word === word && line.rest.includes(part))?.rest ?? '';
/** Packages that the first line of the image names. */
const debian = (/--no-install-recommends (.*?) +&&/.exec(imageLine('RUN', 'apt-get update'))?.[1] ?? '').split(/\s+/);
const npmPackages = imageLine('RUN', 'npm install').replace('npm install --global ', '').split(' ');
const environment = imageLine('ENV');

const start = promisify(execFile);
const succeeds = async (command: string, args: readonly string[], cwd = REPOSITORY): Promise<string> =>
  (await start(command, args, { cwd, maxBuffer: 2 ** 28, timeout: 900_000 })).stdout;

describeWith(['verbs', 'mmdebstrap'], 'the image of the guide', () => {
  // Not below a directory of root's alone.
  const directory = mkdtempSync('/tmp/roce-image-');
  const root = join(directory, 'root');
  let pair: NetnsPair | undefined;

  /** What a shell line prints in the root file system, as `user`, with nothing of this machine but its devices. */
  const inside = (user: string, line: string, prefix: readonly string[] = []): Promise<string> => {
    const variables = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', environment];
    const mounts = `mount -t proc proc ${root}/proc && mount --rbind /dev ${root}/dev`;
    const enter = [...prefix, 'unshare', '-m', 'sh', '-c', `${mounts} && exec chroot "$@"`, 'sh'];
    const [command = '', ...args] = [...enter, `--userspec=${user}`, root, 'env', '-i', ...variables, 'sh', '-c', line];
    return succeeds(command, args, '/');
  };

  beforeAll(async () => {
    // As root, the user of apt must be able to read what is made here.
    await succeeds('sh', ['-c', `chmod 755 ${directory}`]);
    const packs = join(directory, 'packs');
    mkdirSync(packs);
    await succeeds('npm', ['pack', '--silent', '--pack-destination', packs]);
    await succeeds('npm', ['pack', '--silent', '--workspace', 'tools', '--pack-destination', packs]);
    const quiet = ['--aptopt=Acquire::Languages "none"', '--quiet'];
    await succeeds('mmdebstrap', [
      ...['--mode=root', '--variant=minbase', `--include=${debian.join(',')}`, ...quiet, 'bookworm', root],
    ]);
    // What node:22-bookworm-slim has beside Debian's.
    const version = /^node:(\d+)-bookworm/.exec(imageLine('FROM'))?.[1];
    await succeeds('npm', ['install', '--silent', '--no-save', '--prefix', directory, `node@${version}`]);
    await succeeds('sh', ['-c', `cp ${directory}/node_modules/node/bin/node ${root}/usr/local/bin/node`]);
    const packed = readdirSync(packs).map((name) => join(packs, name));
    const wanted = npmPackages.flatMap((name) => (name.startsWith('rocev2') ? [] : [name]));
    await succeeds('npm', ['install', '--silent', '--global', '--prefix', `${root}/usr/local`, ...packed, ...wanted]);
    // Docker makes it.
    writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
  }, 900_000);
  afterAll(() => {
    pair?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it('has the packages that the page names', () => {
    expect(debian).toContain('perftest');
    expect(npmPackages).toEqual(['rocev2', 'rocev2-tools', 'koffi']);
    expect(environment).toMatch(/^XDG_CACHE_HOME=\//);
  });

  it('builds the shim, and loses the compiler', async () => {
    await inside('root', imageLine('RUN', 'roce run'));
    await expect(inside('root', 'command -v cc gcc')).rejects.toThrow();
  });

  it('runs its last line, without a compiler, as a user with no rights', async () => {
    const words: string[] = JSON.parse(imageLine('CMD'));
    expect(imageLine('USER')).toBe('nobody');
    const line = words.map((word) => `'${word}'`).join(' ');
    expect(await inside('65534:65534', line)).toMatch(/#bytes #iterations[\s\S]*#bytes #iterations/);
  });

  it('writes a capture there, and analyzes it', async () => {
    const run = EXAMPLES.find((line) => line.startsWith('roce run --pair -- ')) ?? '';
    const written = run.replace('--pair', '--pair --write /tmp/rdma.pcapng');
    const shown = await inside(
      '65534:65534',
      `${written} && ${EXAMPLES.find((line) => /^roce analyze/.test(line))}`.replace(' rdma.p', ' /tmp/rdma.p'),
    );
    expect(shown.match(/1000 iters in/g)).toHaveLength(2);
    // A machine that is busy answers late, which is no error.
    expect(shown).toMatch(/nothing found that is wrong|\d+ (warning|note)/);
    expect(shown).not.toMatch(/\d+ error/);
  });

  it('says what it has', async () => {
    expect(await inside('65534:65534', 'roce doctor')).toMatch(/programs for libibverbs, unmodified/);
  });

  it('talks to another container, each with a device of its own', async () => {
    pair = makeNetnsPair();
    const [server = '', client = ''] = EXAMPLES.filter((line) => line.startsWith('roce run --link udp6:')).map((line) =>
      line.replace(/ +#.*$/, ''),
    );
    const listening = inside('65534:65534', `timeout 60 ${server}`, pair.a.prefix);
    const asking = inside(
      '65534:65534',
      `for try in 1 2 3 4 5; do timeout 60 ${client} && exit; done; exit 1`,
      pair.b.prefix,
    );
    const shown = await Promise.all([listening, asking]);
    for (const output of shown) expect(output).toContain('1000 iters in');
  });
});
