/**
 * `roce view`: a capture in the explorer.
 *
 * Owns the command line. Exit codes: 0 done or interrupted by the user, 2 the file cannot be read or the command line
 * is invalid.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { refuseOverwriting } from '../dump/overwriting.ts';
import { terminal } from '../output.ts';
import { explorerPage, pageWithCapture } from './page-file.ts';
import { serveExplorer } from './serve.ts';

interface ViewFlags {
  readonly open: boolean;
  readonly html?: string;
  /** Absent: any. */
  readonly port?: number;
}

export function viewCommand(): Command {
  return new Command('view')
    .description('show a capture in the explorer, a page in the browser that loads nothing from the network')
    .argument('[file]', 'capture file (pcap, pcapng) or trace (docs/trace.md); without one the page asks for it')
    .option('--no-open', 'print the address and open no browser')
    .option('--html <out>', 'write one HTML file with the capture inside, and serve nothing')
    .option('--port <port>', 'port on the loopback interface (default: any)', parsePort)
    .action(view);
}

async function view(file: string | undefined, flags: ViewFlags, command: Command): Promise<void> {
  if (file !== undefined) checkFile(file, flags, command);
  const html = await explorerPage();
  if (flags.html !== undefined) {
    writeFileSync(flags.html, file === undefined ? html : pageWithCapture(html, basename(file), readFileSync(file)));
    terminal.line(flags.html);
    return;
  }
  const server = await serveExplorer(html, file, flags.port ?? 0);
  terminal.line(server.url);
  if (flags.open) openBrowser(server.url);
  await new Promise<void>((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  await server.close();
}

/** Ends the command where `file` cannot be read, or would be overwritten. */
function checkFile(file: string, { html }: ViewFlags, command: Command): void {
  try {
    if (!statSync(file).isFile()) command.error(`error: ${file} is no file`);
    accessSync(file, constants.R_OK);
    if (html !== undefined) refuseOverwriting(file, html);
  } catch (error) {
    if (error instanceof CommanderError || !(error instanceof Error)) throw error;
    command.error(`error: ${error.message}`);
  }
}

/** The command with which this system opens addresses. Where it is missing, the printed address has to do. */
function openBrowser(url: string): void {
  const [program, args]: [string, string[]] =
    process.platform === 'darwin'
      ? ['open', [url]]
      : process.platform === 'win32'
        ? ['rundll32', ['url.dll,FileProtocolHandler', url]]
        : ['xdg-open', [url]];
  spawn(program, args, { stdio: 'ignore', detached: true })
    .once('error', () => undefined)
    .unref();
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return Number(text);
}
