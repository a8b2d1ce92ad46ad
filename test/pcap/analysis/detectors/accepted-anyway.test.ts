/**
 * Goal: what a receiver acknowledges is not told to be lost to it: fragments that its host puts together, packets that
 * only the capture has with a wrong ICRC; and what is none of RoCEv2 is not told to be damaged.
 * Method: packets line by line, cut or spoiled as the capture would show them.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { ipv4Fragments, roceFrame, station } from '../../../../tools/symptoms/forge.ts';
import { FIRST_PSN, Script } from '../tracker/script.ts';
import { alarmIds, analyze, findingOf } from './support.ts';

/** Spoiled in every byte of its ICRC, differently for each. */
function spoiled(frame: Uint8Array, seed: number): Uint8Array {
  const bytes = frame.slice();
  for (let i = 1; i <= 4; i++) bytes[bytes.length - i] = (seed * 91 + i * 57) & 0xff;
  return bytes;
}

describe('fragments', () => {
  const write = (script: Script, psn: number) => {
    for (const fragment of ipv4Fragments(script.fromA(Op.SendFirst, psn), 600)) script.see(fragment);
    for (const fragment of ipv4Fragments(script.fromA(Op.SendMiddle, psn + 1), 600)) script.see(fragment);
    script.a(Op.SendLast, psn + 2);
  };

  it('are a warning when they are acknowledged, and an error when they are not', () => {
    const accepted = new Script();
    const refused = new Script();
    for (let psn = 0; psn < 30; psn += 3) {
      write(accepted, psn);
      accepted.ack(psn + 2);
      write(refused, psn);
      refused.nak(psn);
    }
    const warning = findingOf(accepted.analyze(), 'mtu-mismatch');
    expect(warning).toMatchObject({
      severity: 'warning',
      evidence: { sign: 'fragments', packets: 20, acknowledged: 10 },
    });
    expect(warning.text).toContain('and they are acknowledged: something puts them together');
    const error = findingOf(refused.analyze(), 'mtu-mismatch');
    expect(error).toMatchObject({ severity: 'error', evidence: { acknowledged: 0 } });
    expect(error.text).toMatch(/bytes; adapters put none together\.$/);
  });

  it('are acknowledged by no ACK where they are too short for a PSN', () => {
    const script = new Script();
    for (let i = 0; i < 4; i++) {
      for (const fragment of ipv4Fragments(script.fromA(Op.SendFirst, 20 + i), 36)) script.see(fragment);
      script.a(Op.SendOnly, i);
      script.ack(i);
    }
    expect(findingOf(script.analyze(), 'mtu-mismatch')).toMatchObject({
      severity: 'error',
      evidence: { sign: 'fragments', acknowledged: 0 },
    });
  });

  it('are an error as long as one only is acknowledged', () => {
    const script = new Script();
    for (let psn = 0; psn < 9; psn += 3) write(script, psn);
    script.ack(2);
    expect(findingOf(script.analyze(), 'mtu-mismatch')).toMatchObject({
      severity: 'error',
      evidence: { acknowledged: 1 },
    });
  });
});

describe('packets with a wrong ICRC among right ones', () => {
  /** Of ten messages of three packets, the middle ones have a wrong ICRC. */
  const run = (then: (script: Script, psn: number, middle: Uint8Array) => void) => {
    const script = new Script();
    for (let psn = 0; psn < 30; psn += 3) {
      const middle = script.fromA(Op.SendMiddle, psn + 1);
      script
        .a(Op.SendFirst, psn)
        .see(spoiled(middle, psn))
        .a(Op.SendLast, psn + 2);
      then(script, psn, middle);
    }
    return findingOf(script.analyze(), 'icrc-invalid');
  };

  it('are a note when the receiver acknowledges them: the capture is not the wire', () => {
    const note = run((script, psn) => script.ack(psn + 2));
    expect(note).toMatchObject({ severity: 'note', evidence: { badPackets: 10, goodPackets: 20 } });
    expect(note.text).toContain('and yet the peer answers');
  });

  it('are damage when they are sent again, right, before they are acknowledged', () => {
    const again = run((script, psn, middle) => {
      script.nak(psn + 1);
      script.see(middle).a(Op.SendLast, psn + 2);
      script.ack(psn + 2);
    });
    expect(again).toMatchObject({ severity: 'warning', evidence: { explanation: 'damage', badPackets: 10 } });
  });

  it('are damage when half of them are sent again', () => {
    const half = run((script, psn, middle) => {
      if (psn % 2 === 0) script.see(middle);
      script.ack(psn + 2);
    });
    expect(half).toMatchObject({ severity: 'warning', evidence: { explanation: 'damage' } });
  });
});

describe('packets to port 4791 that are none of RoCEv2', () => {
  const [from, to] = [station(1), station(2)];
  const udp = (fill: (bytes: Uint8Array, view: DataView) => void): Uint8Array => {
    const bytes = roceFrame({ from, to, opcode: Op.SendOnly, destQpn: 1, psn: 1, payload: new Uint8Array(100) });
    fill(bytes.subarray(42), new DataView(bytes.buffer, 42));
    return bytes;
  };
  const analyzed = (frames: readonly Uint8Array[]) => {
    const script = new Script();
    for (const frame of frames) script.see(frame);
    return script.analyze();
  };

  it('are told as such when they begin with a number that counts up, as those of iperf do', () => {
    const frames = Array.from({ length: 50 }, (_, i) =>
      udp((bytes, view) => {
        for (let at = 0; at < bytes.length; at++) bytes[at] = 0x30 + (at % 10);
        view.setUint32(0, i);
        view.setUint32(4, 1_700_000_000);
      }),
    );
    const analysis = analyzed(frames);
    expect(alarmIds(analysis)).toEqual([]);
    expect(findingOf(analysis, 'icrc-invalid')).toMatchObject({
      severity: 'note',
      frameCount: 50,
      evidence: { explanation: 'foreign', packets: 50, badPackets: 50 },
    });
  });

  it('are told as such when most of them have no BTH', () => {
    const frames = Array.from({ length: 48 }, (_, i) =>
      udp((bytes) => {
        for (let at = 0; at < bytes.length; at++) bytes[at] = Math.imul(at + 3 * i + 1, 0x9e_37) >> 5;
        bytes[0] = Op.SendOnly;
        bytes[1] = i % 16 === 0 ? 0 : 5;
        bytes[2] = bytes[3] = 0xff;
      }),
    );
    const analysis = analyzed(frames);
    expect(alarmIds(analysis)).toEqual([]);
    expect(findingOf(analysis, 'icrc-invalid').evidence).toEqual({
      explanation: 'foreign',
      packets: 48,
      badPackets: 3,
    });
  });

  it('are not told where none looks like RoCEv2, and are none of zeros', () => {
    const frames = Array.from({ length: 20 }, () => udp((bytes) => bytes.fill(0)));
    expect(analyzed(frames).findings).toEqual([]);
  });

  it('are none where most of what the host sends has no ICRC, as the capture has cut it', () => {
    const long = Array.from({ length: 40 }, (_, i) =>
      roceFrame({ from, to, opcode: Op.SendOnly, destQpn: 1, psn: 20 + i, payload: new Uint8Array(500) }),
    );
    const bad = [0, 1, 2].map((i) => spoiled(roceFrame({ from, to, opcode: Op.SendOnly, destQpn: 1, psn: i }), i));
    const noBth = Array.from({ length: 5 }, () => udp((bytes) => bytes.fill(5)));
    const script = new Script();
    for (const frame of [...long, ...bad, ...noBth]) script.see(frame);
    const cut = script.packets.map((each) => ({ ...each, bytes: each.bytes.subarray(0, 200) }));
    expect(findingOf(analyze(cut), 'icrc-invalid').evidence).toMatchObject({ explanation: 'none', badPackets: 3 });
  });

  it('are none of a host with a few P_Keys in turns, nor of one whose peer answers, though its ICRCs are all wrong', () => {
    const told = (packets: number, pkeys: number, answered = false) => {
      const script = new Script();
      for (let psn = 0; psn < packets; psn++) {
        const frame = script.fromA(Op.SendOnly, psn);
        frame[44] = 0x80 + (psn % pkeys);
        script.see(spoiled(frame, psn));
        if (answered) script.ack(psn);
      }
      return findingOf(script.analyze(), 'icrc-invalid').evidence['explanation'];
    };
    expect(told(30, 2)).toBe('none');
    expect(told(30, 4)).toBe('none');
    expect(told(4, 3)).toBe('none');
    expect(told(5, 4)).toBe('foreign');
    expect(told(200, 64)).toBe('foreign');
    expect(told(30, 30)).toBe('foreign');
    expect(told(30, 30, true)).toBe('none');
  });

  it('are none where one ICRC is right, or the capture has cut it off, and where P_Keys do not change', () => {
    const constant = (i: number) =>
      spoiled(roceFrame({ from, to, opcode: Op.SendOnly, destQpn: 1, psn: FIRST_PSN + i }), i);
    const bad = [0, 1, 2, 3].map(constant);
    expect(findingOf(analyzed(bad), 'icrc-invalid')).toMatchObject({
      severity: 'error',
      evidence: { explanation: 'none' },
    });
    const noBth = Array.from({ length: 9 }, () => udp((bytes) => bytes.fill(5)));
    const right = roceFrame({ from, to, opcode: Op.SendOnly, destQpn: 1, psn: 99 });
    expect(findingOf(analyzed([...bad, ...noBth, right]), 'icrc-invalid').evidence).toMatchObject({
      explanation: 'damage',
    });
  });
});
