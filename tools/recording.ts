/**
 * What a command keeps of its device: a pcapng file, a trace, or what it watches by itself. Owns the files.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { LinkFacts } from 'rocev2';
import { type CaptureSink, monotonicNs } from 'rocev2/node';
import { Medium } from 'rocev2/packets';
import { TraceRecorder } from 'rocev2/trace';
import { CaptureFile } from './capture-file.ts';

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

  close(): void {
    this.#capture?.close();
    this.#trace?.close();
  }

  #sinkFor(link: LinkFacts): CaptureSink {
    const { write } = this.#flags;
    const sinks: CaptureSink[] = [];
    if (this.#watch !== undefined) sinks.push(this.#watch(link));
    else if (write !== undefined) {
      this.#capture = new CaptureFile(write, { interfaceName: link.name, ethernet: link.medium === Medium.Ethernet });
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
  readonly #file: number;
  #text = '';

  constructor(path: string, name: string) {
    this.#file = openSync(path, 'w');
    this.recorder = new TraceRecorder({ now: monotonicNs, name, write: (text) => this.#write(text) });
  }

  close(): void {
    writeSync(this.#file, this.#text);
    closeSync(this.#file);
  }

  #write(text: string): void {
    this.#text += text;
    if (this.#text.length < FLUSH_CHARACTERS) return;
    writeSync(this.#file, this.#text);
    this.#text = '';
  }
}

/** Characters gathered before they go to the file. */
const FLUSH_CHARACTERS = 1 << 16;
