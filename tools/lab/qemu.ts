/**
 * The qemu process of one guest: its arguments, its life, its console. Every process started here ends with this one:
 * killed when node exits, and the guest ends itself when its control channel closes (which covers a node that was
 * killed).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { RoceError } from 'rocev2/packets';
import type { Image } from './image.ts';

export const QEMU = 'qemu-system-x86_64';
/** What the second port of a guest is called in /sys/class/virtio-ports of the guest. */
export const HOST_CONTROL_PORT = 'rocev2.host-control';

export type GuestNetwork =
  /** A connected unix stream socket, handed to qemu: frames with a 4-byte big-endian length before each. */
  | { readonly kind: 'socket'; readonly socket: Socket }
  /** The same wire, on a unix socket that qemu listens on. */
  | { readonly kind: 'listen'; readonly path: string }
  /** A TAP interface of this machine; qemu makes one that does not exist, if it may. */
  | { readonly kind: 'tap'; readonly name: string };

export interface QemuOptions {
  readonly image: Image;
  readonly controlPath: string;
  readonly network: GuestNetwork;
  readonly mac: string;
  readonly addresses: readonly string[];
  /** MTU of the guest's eth0. */
  readonly mtu: number;
  readonly memoryMiB: number;
  /**
   * A unix socket for qemu to listen on, the host's end of the port `rocev2.host-control`; without it there is no such
   * port.
   */
  readonly hostControlPath?: string | undefined;
  /** A pcap file of the guest's frames, written by qemu. */
  readonly capturePath?: string | undefined;
}

export function qemuArguments(options: QemuOptions): string[] {
  const { image, mtu } = options;
  const lab = [`lab.mtu=${mtu}`, `lab.addresses=${options.addresses.join(',')}`];
  const append = ['console=ttyS0', 'quiet', 'panic=-1', 'mitigations=off', 'nokaslr', 'random.trust_cpu=on'];
  // The kernel counts interrupts of its timer for some milliseconds, and panics where a busy machine has not run qemu
  // meanwhile.
  append.push('no_timer_check', ...lab);
  // The kernel takes the device's limit as its MTU's, and rxe takes its MTU when the link is added (ref:rxe#1).
  const device = ['virtio-net-pci', 'netdev=n0', `mac=${options.mac}`, `host_mtu=${mtu}`, 'romfile='];
  const capture =
    options.capturePath === undefined
      ? []
      : ['-object', `filter-dump,id=f0,netdev=n0,file=${escapeComma(options.capturePath)}`];
  return [
    ...['-accel', 'tcg', '-cpu', 'max', '-m', String(options.memoryMiB)],
    ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-vga', 'none', '-serial', 'stdio'],
    ...['-kernel', image.kernelPath, '-initrd', image.initrdPath, '-append', append.join(' ')],
    ...['-device', 'virtio-serial-pci', '-chardev', `socket,id=c0,server=off,path=${escapeComma(options.controlPath)}`],
    ...['-device', 'virtserialport,chardev=c0,nr=1,name=rocev2.lab'],
    ...hostControlArguments(options.hostControlPath),
    ...['-netdev', netdev(options.network), '-device', device.join(','), ...capture],
  ];
}

/** qemu listens, so that one client after the other may come, and the guest sees each of them come and go. */
function hostControlArguments(path: string | undefined): string[] {
  if (path === undefined) return [];
  const chardev = `socket,id=c1,server=on,wait=off,path=${escapeComma(path)}`;
  return ['-chardev', chardev, '-device', `virtserialport,chardev=c1,nr=2,name=${HOST_CONTROL_PORT}`];
}

/** A running qemu. */
export class QemuProcess {
  /** Settles when the process has ended, with the reason in words. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  #console = '';
  #errors = '';

  constructor(options: QemuOptions) {
    const { network } = options;
    const wire = network.kind === 'socket' ? network.socket : 'ignore';
    const child = spawn(QEMU, qemuArguments(options), { stdio: ['ignore', 'pipe', 'pipe', wire] });
    // From here on the connection is qemu's alone.
    if (network.kind === 'socket') network.socket.destroy();
    this.#child = child;
    running.add(child);
    child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      this.#console = (this.#console + text).slice(-CONSOLE_CHARACTERS_MAX);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-CONSOLE_CHARACTERS_MAX);
    });
    this.ended = new Promise((resolve) => {
      child.once('error', (cause) => {
        running.delete(child);
        const absent = 'code' in cause && cause.code === 'ENOENT';
        resolve(absent ? `the program ${QEMU} is not installed here` : `${QEMU} could not be run: ${cause.message}`);
      });
      child.once('close', (code, signal) => {
        running.delete(child);
        resolve(`${QEMU} ended (${code ?? signal})${this.#lastWords()}`);
      });
    });
  }

  /** What the guest's kernel has printed, its last part. */
  get console(): string {
    return this.#console;
  }

  /** Kills the process and waits for its end. A guest has nothing to save. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** A panic prints a page; its first line is the reason. */
  #lastWords(): string {
    const lines = `${this.#console}\n${this.#errors}`.split('\n').filter((text) => text.trim() !== '');
    const line = lines.find((text) => text.includes('Kernel panic')) ?? lines.at(-1);
    return line === undefined ? '' : `: ${line.trim()}`;
  }
}

function netdev(network: GuestNetwork): string {
  switch (network.kind) {
    case 'socket':
      return `stream,id=n0,server=off,addr.type=fd,addr.str=${WIRE_DESCRIPTOR}`;
    case 'listen':
      return `stream,id=n0,server=on,addr.type=unix,addr.path=${escapeComma(network.path)}`;
    case 'tap':
      if (!/^[\w.-]{1,15}$/.test(network.name)) {
        throw new RoceError('ERR_ROCE_ARGUMENT', `${JSON.stringify(network.name)} is not an interface name`);
      }
      return `tap,id=n0,ifname=${network.name},script=no,downscript=no`;
  }
}

/** In qemu's option lists a comma inside a value is written twice. */
function escapeComma(value: string): string {
  return value.replaceAll(',', ',,');
}

/** The place of the wire among the descriptors that qemu inherits. */
const WIRE_DESCRIPTOR = 3;
const CONSOLE_CHARACTERS_MAX = 256 * 1024;
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
