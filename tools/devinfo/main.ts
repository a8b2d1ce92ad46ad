/**
 * `roce devinfo`: opens a device and prints its attributes.
 */
import { Command } from 'commander';
import { DEFAULT_DEVICE } from '../default-device.ts';
import { addLinkOptions, type LinkFlags, withDevice } from '../options.ts';
import { terminal } from '../output.ts';
import { packageVersion } from '../package-version.ts';
import { describeDevice } from './report.ts';

interface DevinfoFlags extends Partial<LinkFlags> {
  readonly verbose?: boolean;
}

export function devinfoCommand(): Command {
  const command = new Command('devinfo')
    .description('open a device and print its attributes, as ibv_devinfo does; without a link the one of "roce run"')
    .option('-v, --verbose', 'all attributes, and the table of GIDs');
  return addLinkOptions(command, { optional: true }).action(run);
}

async function run(flags: DevinfoFlags): Promise<void> {
  const { link } = flags;
  await withDevice(link === undefined ? { ...flags, ...DEFAULT_DEVICE } : { ...flags, link }, async (device) => {
    const options = { version: packageVersion(), verbose: flags.verbose ?? false };
    terminal.line(describeDevice(device, options).join('\n'));
  });
}
