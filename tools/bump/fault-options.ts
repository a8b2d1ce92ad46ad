/**
 * Faults of a wire on a command line, by rule and by chance, from options and from a file of rules. Owns the options
 * that `roce bump` and the commands with a device of their own have in common.
 */
import { type Command, Option } from 'commander';
import type { WireFaults, WireRule } from 'rocev2/faults';
import { defined } from 'rocev2/packets';
import { integer, parser } from '../options.ts';
import { addChanceOptions, type ChanceFlags, chanceFaults, faultProblem } from './chance-options.ts';
import { type RulesFile, readRulesFile } from './rules-file.ts';
import { parseShortRule } from './short-rule.ts';

/** What the options of `addFaultOptions` give. */
export interface FaultFlags extends ChanceFlags {
  readonly rules?: RulesFile;
  readonly rule?: readonly WireRule[];
  readonly seed?: number;
}

/** What is done to frames: the options of `FaultOptions` and of a bump. */
export interface TypedFaults {
  readonly rules: readonly WireRule[];
  readonly faults: WireFaults;
  readonly seed?: number;
}

/** Adds the options. Faults that contradict each other end the command. */
export function addFaultOptions(command: Command): Command {
  const rule = parser(parseShortRule);
  command
    .addOption(
      new Option('--rules <file>', 'JSON file of rules, and of random faults').argParser(parser(readRulesFile)),
    )
    .option(
      '--rule <rule>',
      'one rule, such as drop,opcode=write,psn=2,iteration=1; may be repeated',
      (text: string, previous: readonly WireRule[] = []) => [...previous, rule(text)],
    );
  return addChanceOptions(command)
    .option('--seed <seed>', 'of everything that chance decides (default: 1)', integer(0, Number.MAX_SAFE_INTEGER))
    .hook('preAction', () => {
      const problem = faultProblem(typedFaults(command.opts<FaultFlags>()).faults);
      if (problem !== '') command.error(`error: ${problem}`);
    });
}

/** The rules of the file and of options; random faults of options take the place of those of the file. */
export function typedFaults(flags: FaultFlags): TypedFaults {
  const { rules: file = {}, rule = [] } = flags;
  return {
    rules: [...(file.rules ?? []), ...rule],
    faults: chanceFaults(flags, file.faults ?? {}),
    ...defined({ seed: flags.seed ?? file.seed }),
  };
}
