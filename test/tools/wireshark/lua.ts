/** tshark with the post-dissector of this project: what its fields say of each frame. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const LUA_SCRIPT = fileURLToPath(new URL('../../../tools/wireshark/rocev2.lua', import.meta.url));

export interface LuaRun {
  readonly filter?: string;
  /** As the graphical program reads a file: once for the state, once more to show it. */
  readonly twoPass?: boolean;
  readonly preferences?: readonly string[];
}

/** The values of each field in each frame, in order; tshark's complaints are thrown, those of the script too. */
export async function luaRows(file: string, fields: readonly string[], run: LuaRun = {}): Promise<string[][][]> {
  const { filter, twoPass = false, preferences = [] } = run;
  const { stdout, stderr, status } = await tshark([
    // Wireshark 4.0's guess at RPC over RDMA runs into an assertion of its own now and then.
    ...[
      '-n',
      '--disable-protocol',
      'rpcordma',
      '-X',
      `lua_script:${LUA_SCRIPT}`,
      '-r',
      file,
      '-T',
      'fields',
      '-E',
      'separator=|',
      '-E',
      'aggregator=;',
    ],
    ...preferences.flatMap((preference) => ['-o', preference]),
    ...(twoPass ? ['-2'] : []),
    ...(filter === undefined ? [] : ['-Y', filter]),
    ...fields.flatMap((field) => ['-e', field]),
  ]);
  const complaints = stderr.replace(/^Running as user.*\n?/m, '').trim();
  if (status !== 0 || complaints !== '') throw new Error(`tshark ends with ${status}: ${complaints}`);
  const lines = stdout.split('\n').slice(0, -1);
  return lines.map((line) => line.split('|').map((column) => (column === '' ? [] : column.split(';'))));
}

async function tshark(args: readonly string[]) {
  const child = spawn('tshark', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { ...texts, status };
}
