/**
 * What a guest occupies on this machine besides its process: a private directory with its control socket, the socket
 * its wire listens on, and the connection to a wire. Everything made here is removed again, by `remove` or at node's
 * exit.
 */
import { rmSync } from 'node:fs';
import { lstat, mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RoceError } from 'rocev2/packets';

/** A private directory with the control socket of a guest, and the wire that leads nowhere where one is needed. */
export class GuestDirectory {
  readonly controlPath: string;
  /** Where qemu listens for the host's end of a guest's program port. */
  readonly hostControlPath: string;
  readonly control: Server;
  readonly #directory: string;
  readonly #sinks: Server[] = [];
  readonly #paths: string[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(directory: string) {
    this.#directory = directory;
    this.#paths.push(directory);
    this.controlPath = join(directory, 'control');
    this.hostControlPath = join(directory, 'host-control');
    this.control = createServer();
  }

  static async create(): Promise<GuestDirectory> {
    // A socket's path has at most 107 bytes, so it lies in the system's temporary directory and not in the cache.
    const place = new GuestDirectory(await mkdtemp(join(tmpdir(), 'roce-lab-')));
    leftovers.add(place.#directory);
    await listen(place.control, place.controlPath);
    return place;
  }

  /** A socket that takes every frame and answers none. */
  async sink(): Promise<string> {
    const server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.resume();
    });
    this.#sinks.push(server);
    const path = join(this.#directory, 'sink');
    await listen(server, path);
    return path;
  }

  /** Takes a path for qemu to listen on; what an earlier guest left there is removed, as this one's will be. */
  async own(path: string): Promise<void> {
    const found = await lstat(path).catch(() => undefined);
    if (found !== undefined && !found.isSocket()) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `${path} exists and is not a socket`);
    }
    if (found !== undefined) await rm(path);
    this.#paths.push(path);
    leftovers.add(path);
  }

  async remove(): Promise<void> {
    this.control.close();
    for (const sink of this.#sinks) sink.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const path of this.#paths) {
      await rm(path, { recursive: true, force: true });
      leftovers.delete(path);
    }
  }
}

/**
 * Connects to a wire, waiting at most 20 s for another guest's to appear. qemu 7.2 could connect itself, but tries once
 * and goes on with a dead wire, without an error, when there is no listener.
 */
export async function connectWire(path: string, signal?: AbortSignal): Promise<Socket> {
  for (let tries = 1; ; tries++) {
    try {
      return await connectOnce(path);
    } catch (cause) {
      if (tries < SOCKET_TRIES) await delay(SOCKET_POLL_MS, undefined, { signal });
      else throw new RoceError('ERR_ROCE_LINK_UNAVAILABLE', `nothing listens on ${path}`, { cause });
    }
  }
}

function connectOnce(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    // Not a byte may be read here: the frames are qemu's.
    socket.pause();
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket));
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

const SOCKET_POLL_MS = 50;
const SOCKET_TRIES = 400;

/** Directories and sockets that are still there; a node that exits in the middle leaves none behind. */
const leftovers = new Set<string>();
process.on('exit', () => {
  for (const path of leftovers) rmSync(path, { recursive: true, force: true });
});
