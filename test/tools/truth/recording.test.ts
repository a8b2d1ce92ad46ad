/** Goal: every sending that a receiver lacked is known, and what became of it. Method: a few requests, frame by frame. */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../packets/opcode.ts';
import { psnDiff } from '../../../packets/psn.ts';
import { Recording } from '../../../tools/truth/recording.ts';
import { FIRST_PSN, Script } from '../../pcap/analysis/tracker/script.ts';

/** Sends requests, some of which the network drops. */
class Wire {
  readonly recording = new Recording(FIRST_PSN);
  readonly #script = new Script();
  #serial = 0;

  sends(psn: number, dropped = false): this {
    const bytes = this.#script.fromA(Op.SendOnly, psn);
    const frame = { timeNs: ++this.#serial, bytes, serial: this.#serial, dropped };
    this.recording.frame({ ...frame, host: 'requester', direction: 'out' });
    if (!dropped) this.recording.frame({ ...frame, host: 'responder', direction: 'in' });
    return this;
  }

  /** What the responder lacked. */
  get gaps(): readonly string[] {
    const { gaps } = this.recording.result(0);
    return gaps.map(({ psn, missing, serial }) => `${psnDiff(psn, FIRST_PSN)} ${missing}, sending ${serial}`);
  }
}

describe('a request that is lost', () => {
  it('is a gap', () => {
    expect(new Wire().sends(0).sends(1, true).sends(2).gaps).toEqual(['1 lost, sending 2']);
  });

  it('when it is sent again is one more, where an earlier sending has come and was dropped', () => {
    // 1 is awaited when the second sending of 2 comes; then the third is lost.
    const first = new Wire().sends(0).sends(1, true).sends(2).sends(1).sends(2, true).sends(3);
    expect(first.gaps).toEqual(['1 lost, sending 2', '2 lost, sending 5']);
    const second = new Wire().sends(0).sends(1, true).sends(2, true).sends(3).sends(2).sends(1).sends(2, true).sends(3);
    expect(second.gaps).toEqual(['1 lost, sending 2', '2 lost, sending 3', '2 lost, sending 7']);
  });

  it('when it is sent again is no other gap, where nothing of it has come', () => {
    const wire = new Wire().sends(0).sends(1, true).sends(2).sends(1, true).sends(2);
    expect(wire.gaps).toEqual(['1 lost, sending 2']);
  });
});
