/**
 * `roce devinfo`: opens a device and prints its attributes.
 */
import { Command } from 'commander';
import { addLinkOptions, type LinkFlags, withDevice } from '../options.ts';
import { terminal } from '../output.ts';
import { packageVersion } from '../package-version.ts';
import { describeDevice } from './report.ts';

interface DevinfoFlags extends LinkFlags {
  readonly verbose?: boolean;
}

export function devinfoCommand(): Command {
  const command = new Command('devinfo')
    .description('open a device and print its attributes, as ibv_devinfo does')
    .option('-v, --verbose', 'all attributes, and the table of GIDs');
  return addLinkOptions(command).action(run);
}

async function run(flags: DevinfoFlags): Promise<void> {
  await withDevice(flags, async (device) => {
    const options = { version: packageVersion(), verbose: flags.verbose ?? false };
    terminal.line(describeDevice(device, options).join('\n'));
  });
}
