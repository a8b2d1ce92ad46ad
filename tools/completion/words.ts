/** What can be typed after `roce` and each of its commands, out of the commands themselves. Knows no shell. */
import type { Command, Option } from 'commander';

export interface CompletedOption {
  /** '-v', '--verbose'. */
  readonly names: readonly string[];
  readonly description: string;
  /** Whether a word follows. */
  readonly takesValue: boolean;
  /** The words that may follow; none where any may, such as the name of a file. */
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  /** 'nvme serve'; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
}

/** A command and all below it. */
export function completedCommands(command: Command, path = ''): CompletedCommand[] {
  const { commands, options } = command;
  return [
    {
      path,
      commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
      options: [...options.filter(({ hidden }) => !hidden).map(completedOption), HELP],
    },
    ...commands.flatMap((one) => completedCommands(one, `${path} ${one.name()}`.trim())),
  ];
}

function completedOption({ short, long, description, required, optional, argChoices }: Option): CompletedOption {
  return {
    names: [short, long].filter((name) => name !== undefined),
    description,
    takesValue: required || optional,
    choices: argChoices ?? [],
  };
}

const HELP: CompletedOption = { names: ['-h', '--help'], description: 'print help', takesValue: false, choices: [] };
