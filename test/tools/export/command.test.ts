/**
 * Goal: `roce export` exports what can be read, says what cannot, and never leaves a file that looks whole and is not.
 * Method: the command's action in this process, on captures that are sound, cut, damaged or none; folders that cannot be
 * written; a disk that fills up; and once the whole command as a user types it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PcapngWriter } from '../../../pcap/pcapng-writer.ts';
import { LinkType } from '../../../pcap/types.ts';
import { type ExportFlags, exportFiles } from '../../../tools/export/command.ts';
import { TABLE_NAMES } from '../../../tools/export/tables.ts';
import { describeWith } from '../../support/need.ts';
import { startProgram } from '../../support/running.ts';
import { chunksOf, Sink } from '../../support/sink.ts';
import { rowsOf } from './fleet.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
/** Its tables have more than 64 KiB. */
const LARGER = fileURLToPath(new URL('../../vectors/rxe-6.12.pcap', import.meta.url));
const bytes = readFileSync(SAMPLE);
const scratch = mkdtempSync(join(tmpdir(), 'roce-export-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const out = join(scratch, 'out');
beforeEach(() => rmSync(out, { recursive: true, force: true }));

async function run(files: readonly string[], flags: Partial<ExportFlags> = {}, stdin = chunksOf()) {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await exportFiles(files, { out, icrc: true, ...flags }, { stdin, stdout, stderr });
  return { code, said: stdout.lines, complaint: stderr.lines };
}

function fileOf(name: string, content: Uint8Array): string {
  const file = join(scratch, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
  return file;
}

/** All files below the folder, hidden ones too. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.'));
}

describe('roce export', () => {
  it('writes a file for each table and capture, and says how many packets', async () => {
    const host = fileOf('web1/roce.pcap', bytes);
    const other = fileOf('web2/roce.pcap', bytes);
    const { code, said, complaint } = await run([host, other], { hostFrom: /([^/]+)\/roce\.pcap/ });
    expect({ code, complaint }).toEqual({ code: 0, complaint: [] });
    expect(said).toEqual([`${host}: 72 packets as web1.roce`, `${other}: 72 packets as web2.roce`]);
    const names = ['web1.roce', 'web2.roce'];
    expect(filesIn(out).sort()).toEqual(
      TABLE_NAMES.flatMap((table) => names.map((name) => join(table, `${name}.parquet`))).sort(),
    );
    expect(await rowsOf(out, 'captures', 'web2.roce')).toMatchObject([{ capture: 'web2.roce', host: 'web2' }]);
  });

  it('writes the tables that are asked for, and always the captures', async () => {
    expect(await run([SAMPLE], { tables: ['findings'] })).toMatchObject({ code: 0 });
    expect(filesIn(out).sort()).toEqual(['captures/rxe-sample.parquet', 'findings/rxe-sample.parquet']);
  });

  it('reads standard input', async () => {
    const halves = chunksOf(bytes.subarray(0, 1000), bytes.subarray(1000));
    const { code, said } = await run(['-'], { host: 'web3' }, halves);
    expect({ code, said }).toEqual({ code: 0, said: ['-: 72 packets as web3.stdin'] });
    expect((await rowsOf(out, 'packets', 'web3.stdin')).length).toBe(72);
  });

  it('exports a capture without packets', async () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'eth0', linkType: LinkType.Ethernet });
    const { code, said } = await run([fileOf('empty.pcapng', writer.take())]);
    expect({ code, said }).toEqual({ code: 0, said: [`${join(scratch, 'empty.pcapng')}: 0 packets as empty`] });
    for (const table of ['packets', 'events', 'findings', 'conversation_ends'])
      expect(await rowsOf(out, table, 'empty')).toEqual([]);
    expect(await rowsOf(out, 'captures', 'empty')).toMatchObject([{ packets: 0n, start_ns: null, damage: null }]);
    expect(await rowsOf(out, 'interfaces', 'empty')).toMatchObject([{ name: 'eth0', interface_index: 0 }]);
  });

  it('exports what comes before a defect, and goes on with the next capture', async () => {
    const cut = fileOf('cut.pcap', bytes.subarray(0, bytes.length - 5));
    const { code, said, complaint } = await run([cut, SAMPLE]);
    expect(code).toBe(2);
    expect(said).toEqual([`${cut}: 71 packets as cut`, `${SAMPLE}: 72 packets as rxe-sample`]);
    expect(complaint).toEqual([expect.stringMatching(/^roce export: .*cut\.pcap: /)]);
    expect((await rowsOf(out, 'packets', 'cut')).length).toBe(71);
    const [{ damage } = {}] = await rowsOf(out, 'captures', 'cut');
    expect(complaint[0]).toContain(String(damage));
  });

  it('leaves nothing of a file that is no capture, and says why', async () => {
    const none = fileOf('none.pcap', Buffer.from('this is no capture'));
    const { code, said, complaint } = await run([none]);
    expect({ code, said, files: filesIn(out) }).toEqual({ code: 2, said: [], files: [] });
    expect(complaint).toEqual([expect.stringContaining('none.pcap: ')]);
  });

  it('refuses to overwrite before it reads anything, and replaces what it is asked to', async () => {
    const file = fileOf('again.pcap', bytes);
    await run([file]);
    const first = readFileSync(join(out, 'packets/again.parquet'));
    writeFileSync(file, bytes.subarray(0, 5000));
    const refused = await run([SAMPLE, file]);
    expect(refused).toEqual({
      code: 2,
      said: [],
      complaint: [`roce export: ${join(out, 'captures/again.parquet')} is there already: --overwrite replaces it`],
    });
    expect(Buffer.compare(first, readFileSync(join(out, 'packets/again.parquet')))).toBe(0);
    expect(existsSync(join(out, 'packets/rxe-sample.parquet'))).toBe(false);
    expect(await run([SAMPLE, file], { overwrite: true })).toMatchObject({ code: 2 });
    expect((await rowsOf(out, 'packets', 'again')).length).toBeLessThan(72);
  });

  it('takes no notice of what a run that was killed has left', async () => {
    mkdirSync(join(out, 'packets'), { recursive: true });
    writeFileSync(join(out, 'packets/.rxe-sample.parquet.partial'), 'x'.repeat(1_000_000));
    expect(await run([SAMPLE])).toMatchObject({ code: 0 });
    expect(filesIn(out).filter((name) => name.includes('partial'))).toEqual([]);
    expect((await rowsOf(out, 'packets', 'rxe-sample')).length).toBe(72);
  });

  it('refuses captures of one name, files without a host, files that are not there', async () => {
    const [one, two] = [fileOf('x/a:b.pcap', bytes), fileOf('y/A_b.pcap', bytes)];
    const refuse = async (files: string[], flags: Partial<ExportFlags> = {}) => {
      const { code, said, complaint } = await run(files, flags);
      expect({ code, said, there: existsSync(out) }).toEqual({ code: 2, said: [], there: false });
      return complaint.join();
    };
    expect(await refuse([one, two])).toMatch(/would both be the capture A_b: say which hosts/);
    expect(await refuse([one], { hostFrom: /host-(\w+)/ })).toMatch(/a:b\.pcap has no host by --host-from/);
    expect(await refuse([SAMPLE, join(scratch, 'gone.pcap')])).toMatch(/ENOENT.*gone\.pcap/);
    expect(await run([one, two], { hostFrom: /(?<host>[xy])\/[^/]*$/ })).toMatchObject({ code: 0 });
    expect(readdirSync(join(out, 'packets')).sort()).toEqual(['x.a_b.parquet', 'y.A_b.parquet']);
  });

  it('says that a folder cannot be made', async () => {
    const { code, complaint } = await run([SAMPLE], { out: join(SAMPLE, 'out') });
    expect(code).toBe(1);
    expect(complaint).toEqual([expect.stringMatching(/^roce export: E(?:NOTDIR|EXIST).*nothing is left/)]);
  });

  it('leaves nothing where one of its files cannot be made, or cannot get its name', async () => {
    for (const inTheWay of ['findings/.rxe-sample.parquet.partial', 'findings/rxe-sample.parquet']) {
      rmSync(out, { recursive: true, force: true });
      mkdirSync(join(out, inTheWay, 'folder'), { recursive: true });
      const { code, complaint } = await run([SAMPLE], { overwrite: true });
      expect({ code, complaint }).toEqual({ code: 1, complaint: [expect.stringMatching(/EISDIR.*nothing is left/)] });
      expect(filesIn(out)).toEqual([inTheWay, `${inTheWay}/folder`]);
    }
  });

  it('runs as a user types it', async () => {
    const { code, stdout, stderr } = await startProgram('tools/roce.ts', ['export', SAMPLE, '--out', out]).ended;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${SAMPLE}: 72 packets as rxe-sample\n`, stderr: '' });
    const wrong = await startProgram('tools/roce.ts', ['export', SAMPLE, '--out', out, '--tables', 'packages']).ended;
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no table 'packages'") });
  });
});

describeWith('tmpfs', 'a disk of 64 KiB that fills up', () => {
  const disk = mkdtempSync(join(tmpdir(), 'roce-disk-'));
  beforeAll(() => {
    const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
    expect(status, String(stderr)).toBe(0);
  });
  afterAll(() => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  it('ends the export with a clear error, and leaves nothing of the capture', async () => {
    const { code, said, complaint } = await run([LARGER], { out: disk });
    expect({ code, said }).toEqual({ code: 1, said: [] });
    expect(complaint).toEqual([
      expect.stringMatching(/^roce export: ENOSPC: .*; nothing is left of the capture at hand$/),
    ]);
    expect(filesIn(disk)).toEqual([]);
  });
});
