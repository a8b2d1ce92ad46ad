/**
 * Snapshots of the hosts of a scene, before it and after it.
 *
 * Owns two sources: what the devices of the hosts count; and what their NICs would count where our devices have nothing,
 * read from the capture of the scene: pause frames, packets by priority, and wrong ICRCs of packets made by hand.
 */
import { vi } from 'vitest';
import { FrameStatus } from '../../../packets/frame.ts';
import { isPfc, pfcEnableVector, pfcQuanta } from '../../../packets/pfc.ts';
import { type CapturedPacket, Dissection, dissect, IcrcState, icrcState, readCapture } from '../../../pcap/index.ts';
import { snapshotOfDevice } from '../../../tools/counters/own.ts';
import { snapshotsOf } from '../../../tools/counters/read.ts';
import type { Snapshot } from '../../../tools/counters/snapshot.ts';
import type { Host } from '../../../tools/symptoms/end.ts';
import type { Scene } from '../../../tools/symptoms/scene.ts';
import { Stage } from '../../../tools/symptoms/stage.ts';

/** Plays the scene; what `more` returns is added to the snapshots of each host. */
export async function countersOf(scene: Scene, more: (host: string) => string = () => ''): Promise<Snapshot[]> {
  const texts: string[] = [];
  const spy = vi.spyOn(Stage.prototype, 'host');
  const capture = await scene.make();
  const hosts = spy.mock.results.flatMap(({ type, value }) => (type === 'return' ? [value as Host] : []));
  spy.mockRestore();
  const port = portOf(capture, hosts.length > 0);
  const end = EPOCH_MS + port.lastedMs;
  for (const { name, device } of hosts) {
    const after = snapshotOfDevice(name, device, end) + port.linesOf(name) + more(name);
    texts.push(zeroed(after), after);
  }
  // A receiver of which there is only the capture.
  if (hosts.length === 0) {
    const text = `# roce-counters 1\n# host B\n# date ${new Date(end).toISOString()}\n${port.linesOf('A')}`;
    texts.push(zeroed(text), text);
  }
  return texts.flatMap((text) => snapshotsOf(text, scene.name));
}

/** The same snapshot at the beginning, when nothing had been counted. */
function zeroed(text: string): string {
  return text.replace(/:( ?)\d+$/gm, ':$10').replace(/^# date .*$/m, `# date ${new Date(EPOCH_MS).toISOString()}`);
}

interface PortCounts {
  readonly lastedMs: number;
  /** What the port of a host counts, as lines of sysfs and ethtool. */
  linesOf(host: string): string;
}

/** The first vantage is host A; frames with another source than its MAC arrive there. */
function portOf(capture: Uint8Array, hasDevices: boolean): PortCounts {
  const into = new Dissection();
  const pauses = new Map<number, { frames: number; us: number; untilUs: number }>();
  const sent = new Map<string, number[]>();
  let wrong = 0;
  let right = 0;
  let first: number | undefined;
  let last = 0;
  for (const packet of readCapture(capture)) {
    if (packet.interfaceIndex !== 0) continue;
    const at = microseconds(packet);
    first ??= at;
    last = at;
    if (dissect(packet, into) === FrameStatus.Ok) {
      if (icrcState(into) === IcrcState.Bad) wrong += 1;
      else right += 1;
      const { frame } = into;
      const host = String.fromCharCode(64 + frame.view.getUint8(frame.ipOffset + 15));
      const byPriority = sent.get(host) ?? new Array<number>(8).fill(0);
      const priority = frame.vlanTci >= 0 ? frame.vlanTci >> 13 : frame.trafficClass >> 5;
      byPriority[priority] = (byPriority[priority] ?? 0) + 1;
      sent.set(host, byPriority);
      continue;
    }
    const { view, start, end } = into.frame;
    if (!isPfc(view, start, end)) continue;
    for (let priority = 0; priority < 8; priority++) {
      if (((pfcEnableVector(view, start) >> priority) & 1) === 0) continue;
      const pause = pauses.get(priority) ?? { frames: 0, us: 0, untilUs: at };
      pause.frames += 1;
      if (pause.untilUs > at) pause.us -= pause.untilUs - at;
      pause.untilUs = at + (pfcQuanta(view, start, priority) * QUANTUM_NS) / 1000;
      pause.us += pause.untilUs - at;
      pauses.set(priority, pause);
    }
  }
  const lastedMs = (last - (first ?? last)) / 1000;
  return {
    lastedMs,
    linesOf(host) {
      const lines = (sent.get(host) ?? []).map((count, priority) => `  tx_prio${priority}_packets: ${count}`);
      if (host === 'A')
        for (const [priority, { frames, us, untilUs }] of pauses) {
          const beyond = Math.max(0, untilUs - last);
          lines.push(`  rx_prio${priority}_pause: ${frames}`);
          lines.push(`  rx_prio${priority}_pause_duration: ${Math.round(us - beyond)}`);
        }
      const made =
        host === 'A'
          ? [
              `roce_0/ports/1/hw_counters/rx_icrc_encapsulated:${wrong}`,
              `roce_0/ports/1/hw_counters/rdma_rx_packets:${right}`,
            ]
          : [];
      return `${[...(hasDevices ? [] : made), '# section ethtool -S eth0', ...lines].join('\n')}\n`;
    },
  };
}

function microseconds({ seconds, nanoseconds }: CapturedPacket): number {
  return (seconds - EPOCH_MS / 1000) * 1e6 + nanoseconds / 1000;
}

/** When scenes begin. */
const EPOCH_MS = 1_767_225_600_000;
/** Of 512 bits at 100 Gb/s, as the analyzer takes it. */
const QUANTUM_NS = 5.12;
