/**
 * What a command keeps of its device: a pcapng file, a trace, or what it watches by itself. Owns the files.
 */
import type { LinkFacts } from 'rocev2';
import { type CaptureSink, monotonicNs } from 'rocev2/node';
import { Medium, type RoceError } from 'rocev2/packets';
import { TraceRecorder } from 'rocev2/trace';
import { CaptureFile } from './capture-file.ts';
import { terminal } from './output.ts';
import { RecordFile } from './record-file.ts';

export interface RecordingFlags {
  /** The wire, as on the command line. */
  readonly link: string;
  /** Path of a pcapng file. */
  readonly write?: string;
  /** Path of a trace. */
  readonly trace?: string;
}

/** What is kept of one device. */
export class Recording {
  readonly #flags: RecordingFlags;
  readonly #watch: ((link: LinkFacts) => CaptureSink) | undefined;
  readonly #trace: TraceFile | undefined;
  #capture: CaptureFile | undefined;

  /** @param watch sees every frame, in the place of the pcapng file */
  constructor(flags: RecordingFlags, watch: ((link: LinkFacts) => CaptureSink) | undefined) {
    this.#flags = flags;
    this.#watch = watch;
    this.#trace = flags.trace === undefined ? undefined : new TraceFile(flags.trace, flags.link);
  }

  /** For `openDevice`. */
  get options(): { captureSink?: (link: LinkFacts) => CaptureSink; trace?: TraceRecorder } {
    const { write } = this.#flags;
    const trace = this.#trace;
    if (trace === undefined && this.#watch === undefined && write === undefined) return {};
    return {
      captureSink: (link) => this.#sinkFor(link),
      ...(trace === undefined ? {} : { trace: trace.recorder }),
    };
  }

  /** Why a file ends early: a full disk. The device went on without it. */
  get failure(): RoceError | undefined {
    return this.#capture?.failure ?? this.#trace?.failure;
  }

  close(): void {
    this.#capture?.close();
    this.#trace?.close();
  }

  #sinkFor(link: LinkFacts): CaptureSink {
    const { write } = this.#flags;
    const sinks: CaptureSink[] = [];
    if (this.#watch !== undefined) sinks.push(this.#watch(link));
    else if (write !== undefined) {
      const ethernet = link.medium === Medium.Ethernet;
      this.#capture = new CaptureFile(write, { interfaceName: link.name, ethernet }, complain);
      sinks.push(this.#capture);
    }
    if (this.#trace !== undefined) sinks.push(this.#trace.recorder.on(link.medium));
    return {
      frame: (timeNs, direction, bytes, start, end, comment) => {
        for (const sink of sinks) sink.frame(timeNs, direction, bytes, start, end, comment);
      },
    };
  }
}

/** A trace that is written as it grows. */
class TraceFile {
  readonly recorder: TraceRecorder;
  readonly #file: RecordFile;
  #text = '';

  constructor(path: string, name: string) {
    const pendingBytes = (): number => this.#text.length;
    const take = (): Uint8Array => this.#take();
    const source = {
      get pendingBytes() {
        return pendingBytes();
      },
      take,
    };
    this.#file = new RecordFile(path, source, complain);
    this.recorder = new TraceRecorder({ now: monotonicNs, name, write: (text) => this.#write(text) });
  }

  get failure(): RoceError | undefined {
    return this.#file.failure;
  }

  close(): void {
    this.#file.close();
  }

  #write(text: string): void {
    this.#text += text;
    this.#file.grown();
  }

  #take(): Uint8Array {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    return bytes;
  }
}

function complain({ message }: RoceError): void {
  terminal.complaint(`${message}; the device goes on without it`);
}
