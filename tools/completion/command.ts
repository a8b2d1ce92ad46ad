/** `roce completion`: completion of this very command line, for shells. */
import { Argument, type Command, Command as Program } from 'commander';
import { print } from '../output.ts';
import { completionScript, SHELLS, type Shell } from './scripts.ts';
import { completedCommands } from './words.ts';

/** @param load all commands that there are */
export function completionCommand(load: () => Promise<readonly Command[]>): Command {
  return new Program('completion')
    .description('a script that completes this command line, for bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText('after', '\n  source <(roce completion bash)')
    .action(async (shell: Shell) => {
      const program = new Program('roce');
      for (const command of await load()) program.addCommand(command);
      print(completionScript(shell, completedCommands(program)));
    });
}
