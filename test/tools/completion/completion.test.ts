/**
 * Goal: a shell completes commands, options and their words as `roce` has them, and file names elsewhere. Method: the
 * scripts of a made-up program, run by bash itself where it is there; the real program's, whole, through its syntax
 * check.
 */
import { spawnSync } from 'node:child_process';
import { Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { completionScript, SHELLS } from '../../../tools/completion/scripts.ts';
import { completedCommands } from '../../../tools/completion/words.ts';
import { describeWith } from '../../support/need.ts';
import { startRoce } from '../roce/run-roce.ts';

function madeUp(): Command {
  const serve = new Command('serve')
    .description("serves what's there")
    .option('-n, --name <name>', 'whose')
    .addOption(new Option('--cc <kind>', 'which').choices(['none', 'dcqcn']))
    .addOption(new Option('--secret', 'not for everybody').hideHelp());
  const disk = new Command('disk').description('disks').option('--flat', 'no tree').addCommand(serve);
  return new Command('roce').option('--version', 'print it').addCommand(disk).addCommand(new Command('dump'));
}

const COMMANDS = completedCommands(madeUp());

/** What bash offers for the last of the words. */
function offered(...words: readonly string[]): string[] {
  const script = `${completionScript('bash', COMMANDS)}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_roce
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  return run.stdout.split('\n').filter((word) => word !== '');
}

describe('the words', () => {
  it('are those of every command, with what follows an option, and without what help hides', () => {
    expect(COMMANDS.map(({ path }) => path)).toEqual(['', 'disk', 'disk serve', 'dump']);
    expect(COMMANDS[2]?.options).toEqual([
      { names: ['-n', '--name'], description: 'whose', takesValue: true, choices: [] },
      { names: ['--cc'], description: 'which', takesValue: true, choices: ['none', 'dcqcn'] },
      { names: ['-h', '--help'], description: 'print help', takesValue: false, choices: [] },
    ]);
  });
});

describeWith('bash', 'in bash', () => {
  it.each<[readonly string[], readonly string[]]>([
    [
      ['roce', ''],
      ['disk', 'dump', '--version', '-h', '--help'],
    ],
    [
      ['roce', 'd'],
      ['disk', 'dump'],
    ],
    [['roce', 'disk', 's'], ['serve']],
    [['roce', 'disk', '--f'], ['--flat']],
    [
      ['roce', 'disk', '--flat', 'serve', '--'],
      ['--name', '--cc', '--help'],
    ],
    [
      ['roce', 'disk', 'serve', '--cc', ''],
      ['none', 'dcqcn'],
    ],
    [['roce', 'disk', 'serve', '--cc', 'd'], ['dcqcn']],
    [['roce', 'disk', 'serve', '-n', ''], []],
    [['roce', 'disk', 'serve', '--s'], []],
    [['roce', 'dump', '--', 'disk', ''], []],
    [['roce', 'nothing', '--v'], ['--version']],
  ])('%j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });
});

describe('roce completion', () => {
  it.each(SHELLS)('has every command in the script for %s', async (shell) => {
    const { code, stdout, stderr } = await startRoce(['completion', shell]).ended;
    expect([code, stderr]).toEqual([0, '']);
    for (const word of ['analyze', 'nvme', 'serve', 'connect-bench', 'completion']) expect(stdout).toContain(word);
  });

  it('refuses another shell in one line', async () => {
    const { code, stderr } = await startRoce(['completion', 'tcsh']).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/^roce completion: .*bash, zsh, fish.*\n$/);
  });
});
