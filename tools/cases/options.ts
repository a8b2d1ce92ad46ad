/** The options of every command that runs many cases and can be one of many processes that share them. */
import type { Command } from 'commander';
import { parser } from '../options.ts';
import { parseShard, type Shard } from './shard.ts';

export interface ShareFlags {
  readonly shard?: Shard;
  readonly results?: string;
}

/** @param cases what the command calls them, such as `runs` */
export function addShareOptions(command: Command, cases: string): Command {
  return command
    .option('--shard <i/n>', `of all ${cases}, every n-th from the i-th on; i from 0`, parser(parseShard))
    .option(
      '--results <folder>',
      `keep the result of each in a file of its own, as soon as it is there, and leave out ${cases} that have one`,
    );
}
