/**
 * The agent's JSON reader, in C: compiled with the sanitizers and its own coverage, one process for all inputs. An input
 * is a line. What JSON.parse takes and the reader takes is of one kind. Needs a C compiler.
 */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AGENT_DIRECTORY, findCompiler } from '../../../tools/conformance/agent/build.ts';
import { type FuzzTarget, promise } from '../engine/target.ts';

const DRIVER = fileURLToPath(new URL('agent-json.c', import.meta.url));
const SOURCES = ['json.c', 'json-write.c'];
const FLAGS = ['-std=c11', '-D_GNU_SOURCE', '-g', '-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
const PLACES = '-fsanitize-coverage=trace-pc';

interface Reader {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly lines: AsyncIterator<string>;
  complaint: string;
}

let program: string | undefined;
let blocks = 0;
let reader: Reader | undefined;

/** Compiles the reader; called once. */
function build(): string {
  const directory = mkdtempSync(join(tmpdir(), 'roce-fuzz-json-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const compiler = findCompiler() ?? 'cc';
  const objects = SOURCES.map((name) => {
    const [source, object] = [join(AGENT_DIRECTORY, name), join(directory, `${name}.o`)];
    execFileSync(compiler, [...FLAGS, PLACES, `-I${AGENT_DIRECTORY}`, '-c', source, '-o', object]);
    const text = execFileSync(compiler, [...FLAGS, PLACES, `-I${AGENT_DIRECTORY}`, '-S', source, '-o', '-'], {
      encoding: 'utf8',
    });
    blocks += text.match(/__sanitizer_cov_trace_pc/g)?.length ?? 0;
    return object;
  });
  execFileSync(compiler, [...FLAGS, `-I${AGENT_DIRECTORY}`, DRIVER, ...objects, '-o', join(directory, 'reader')]);
  return join(directory, 'reader');
}

function start(): Reader {
  program ??= build();
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'pipe'] });
  const made: Reader = {
    child,
    lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    complaint: '',
  };
  child.stdin.on('error', () => {});
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    made.complaint += text;
  });
  child.unref();
  return made;
}

async function run(input: Uint8Array, hits: Uint8Array): Promise<string> {
  reader ??= start();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(input.length);
  reader.child.stdin.write(Buffer.concat([length, input]));
  const { value, done } = await reader.lines.next();
  if (done === true || value === undefined) {
    const { complaint } = reader;
    reader = undefined;
    promise(false, `the reader ended: ${complaint.split('\n').find((line) => /ERROR|error:/.test(line)) ?? complaint}`);
  }
  const [said = '', ...places] = value.split('\t');
  for (const place of places) {
    const [at = '', count = ''] = place.split('=');
    hits[Number(at)] = Number(count);
  }
  promise(said !== 'an object' || isObject(input), 'what the reader takes for an object is one');
  return said;
}

/** Bytes that are no UTF-8 are replaced here and passed on there: of these nothing is said. */
function isObject(input: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(input);
    return typeof JSON.parse(text) === 'object';
  } catch (error) {
    return error instanceof TypeError;
  }
}

export const target: FuzzTarget = {
  name: 'agent-json',
  maxBytes: 2000,
  words: [
    'true',
    'false',
    'null',
    '{"',
    '":',
    '[',
    ']',
    '}',
    '\\u',
    '\\ud800',
    '\\udc00',
    '\\n',
    '1e5',
    '-0.5',
    '"0x1f"',
    '0xffff',
  ],
  ownBlocks: () => {
    program ??= build();
    return blocks;
  },
  close: async () => {
    reader?.child.kill();
    reader = undefined;
  },
  seeds: () =>
    [
      '{"id":1,"call":"qp.create","args":{"qp":1,"pd":1,"type":"rc"}}',
      '[1,-2.5e3,true,false,null,"a\\n\\u00e9\\ud83d\\ude00",{"a":[]}]',
      ...[
        '"0xffffffff"',
        '18446744073709551616',
        '[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]',
        '{"a":1,"a":2}',
        '"\\ud800"',
        '1e999',
        ' [ ] ',
        '',
      ],
    ].map((text) => new TextEncoder().encode(text)),
  run,
};
