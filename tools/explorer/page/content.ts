/**
 * Reads anywhere in a file that was picked, or that the server of the page has. At once, as only a worker can: the
 * engine asks for bytes where it needs them, and no file has to be in memory.
 */
import type { ByteSource } from '../engine/file-bytes.ts';
import type { FileContent } from '../engine/protocol.ts';

/** Throws a sentence where there is no such file. */
export function openContent(content: FileContent): ByteSource {
  return typeof content === 'string' ? openServed(content) : openPicked(content);
}

function openPicked(blob: Blob): ByteSource {
  const reader = new FileReaderSync();
  return {
    size: blob.size,
    keptBytes: keptBytes(),
    read: (from, to) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(from, to))),
  };
}

function openServed(address: string): ByteSource {
  const head = ask('HEAD', address);
  const size = Number(head.getResponseHeader('content-length') ?? Number.NaN);
  if (head.status !== OK || !Number.isSafeInteger(size)) throw new Error(refusal(address, head.status));
  return {
    size,
    keptBytes: keptBytes(),
    read(from, to) {
      const answer = ask('GET', address, `bytes=${from}-${to - 1}`);
      if (answer.status !== PARTIAL) throw new Error(refusal(address, answer.status));
      return new Uint8Array(answer.response);
    },
  };
}

/** A GiB, so that a filter need not read the file again; less on a machine that has less than four. */
function keptBytes(): number {
  const { deviceMemory = Number.POSITIVE_INFINITY } = navigator as { readonly deviceMemory?: number };
  return Math.min(MOST_KEPT, (deviceMemory * GIB) / 4);
}

function ask(method: 'GET' | 'HEAD', address: string, range?: string): XMLHttpRequest {
  const request = new XMLHttpRequest();
  request.open(method, address, false);
  request.responseType = 'arraybuffer';
  if (range !== undefined) request.setRequestHeader('range', range);
  try {
    request.send();
  } catch {
    throw new Error(`${new URL(address).pathname}: the server does not answer`);
  }
  return request;
}

function refusal(address: string, status: number): string {
  return `${new URL(address).pathname}: the server answers ${status}`;
}

/** What a worker's global has that a window's has not. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

const GIB = 2 ** 30;
const MOST_KEPT = GIB;
const OK = 200;
const PARTIAL = 206;
