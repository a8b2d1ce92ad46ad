/**
 * Goal: what is asked for again behind something that came late is neither lost nor due to a timeout, and what nothing
 * explains still is. Method: short scripts of READ responses and of requests, each beside a near miss.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import type { ConversationReport } from '../../../../pcap/analysis/types.ts';
import { eventsOf, Script } from './script.ts';

const kindsOf = (script: Script, of: readonly string[]) =>
  eventsOf(script.analyze()).filter((event) => of.some((kind) => event.startsWith(kind)));
const VERDICTS = ['loss', 'reordering', 'missing'];

describe('READ responses', () => {
  /** Responses 1 and 2 of a READ come before response 0. */
  const firstIsLate = (): Script => {
    const script = new Script().read(0, 4).answers(0, 3).read(4, 4);
    const first = script.fromB(Op.ReadResponseFirst, 4);
    return script.b(Op.ReadResponseMiddle, 5).b(Op.ReadResponseMiddle, 6).see(first).b(Op.ReadResponseLast, 7);
  };

  it('that came before a late one are dropped and asked for: nothing happened to them', () => {
    const script = firstIsLate().read(5, 3).answers(5, 7);
    expect(kindsOf(script, VERDICTS)).toEqual(['reordering 4']);
  });

  it('of which the requester got the first in this way may be lost behind this place, or something else is late', () => {
    // Response 5 was accepted when it came again, so that only response 6 or the way to it can be the cause.
    const script = firstIsLate().read(5, 3).answers(5, 7).read(6, 2).answers(6, 7);
    expect(kindsOf(script, VERDICTS)).toEqual(['reordering 4', 'missing 6']);
  });

  it('are lost where nothing has been overtaken', () => {
    const script = new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7).read(5, 3).answers(5, 7);
    expect(kindsOf(script, VERDICTS)).toEqual(['loss 5']);
  });

  it('are late where the requester has one before it was sent again, and what came behind that was dropped', () => {
    const begun = () => new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7).read(5, 3);
    expect(kindsOf(begun().read(6, 2).answers(5, 7).answers(6, 7), VERDICTS)).toEqual(['reordering 5']);
    const twice = begun().read(6, 2).answers(5, 7).read(8, 4).answers(8, 11).read(9, 3).read(10, 2).answers(9, 11);
    expect(kindsOf(twice, VERDICTS)).toEqual(['reordering 5', 'reordering 9']);
    // Sent again before: it may be that which the requester has.
    expect(kindsOf(begun().answers(5, 7).read(6, 2).answers(6, 7), VERDICTS)).toEqual(['loss 5', 'loss 6']);
    // Never sent again, or asked for twice.
    expect(kindsOf(begun(), VERDICTS)).toEqual(['loss 5']);
    expect(kindsOf(begun().read(5, 3).answers(5, 7), VERDICTS)).toEqual(['loss 5']);
    // Another one than the next stood behind nothing.
    expect(kindsOf(begun().read(7, 1).answers(5, 7), VERDICTS)).toEqual(['reordering 5', 'missing 7']);
  });

  describe('that the requester asks for again, and then for what is behind them,', () => {
    /** Two READs, of which the last response of the first one is asked for again, with the second READ. */
    const begun = (options = {}) => {
      const reads = new Script(options).read(0, 4).answers(0, 3).read(4, 4).read(8, 4);
      return reads.answers(4, 7).answers(8, 11).read(7, 1).read(8, 4);
    };

    it('came late when it asks for that twice, and none was sent in between', () => {
      expect(kindsOf(begun().read(8, 4).answers(7, 7).answers(8, 11), VERDICTS)).toEqual(['reordering 7']);
      // Once, or from the same one on, or further on than before.
      expect(kindsOf(begun().answers(7, 7).answers(8, 11), VERDICTS)).toEqual(['loss 7']);
      expect(kindsOf(begun().read(7, 1).read(8, 4).answers(7, 7).answers(8, 11), VERDICTS)).toEqual(['loss 7']);
      expect(kindsOf(begun().read(12, 4).answers(7, 7).answers(8, 15), VERDICTS)).toEqual(['loss 7']);
      const same = begun().read(7, 1).read(8, 4).answers(7, 7).answers(8, 11);
      expect(kindsOf(same, ['implied-nak'])).toEqual(['implied-nak 7 implied-nak']);
      // Sent again before it asks for what is behind that: the second time has no reason, and proves nothing.
      const behind = new Script().read(0, 4).answers(0, 3).read(4, 4).read(8, 4).answers(4, 7).answers(8, 11);
      expect(kindsOf(behind.read(7, 1).answers(7, 7).read(8, 4).read(8, 4), VERDICTS)).toEqual(['loss 7']);
    });

    it('came late when what was sent again since cannot show that more is missing', () => {
      expect(kindsOf(begun().answers(7, 7).read(8, 4).answers(8, 11), VERDICTS)).toEqual(['reordering 7']);
      const within = () => new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7).read(5, 3);
      expect(kindsOf(within().answers(5, 6).read(6, 2).answers(6, 7), VERDICTS)).toEqual(['reordering 5']);
      // It can: that may have been lost as well.
      expect(kindsOf(within().answers(5, 7).read(6, 2).answers(6, 7), VERDICTS)).toEqual(['loss 5', 'loss 6']);
      expect(kindsOf(begun().answers(7, 7).answers(8, 9).read(8, 4), VERDICTS)).toEqual(['loss 7', 'loss 8']);
      const acknowledged = begun().answers(7, 7).sends(12, 12).ack(12).read(8, 4);
      expect(kindsOf(acknowledged, ['loss 7', 'reordering'])).toEqual(['loss 7']);
      expect(kindsOf(within().answers(5, 7).b(Op.ReadResponseMiddle, 5).read(6, 2), VERDICTS)).toEqual([
        'loss 5',
        'loss 6',
      ]);
      // It was lost once more.
      expect(kindsOf(within().answers(5, 5).read(5, 3).answers(5, 7), VERDICTS)).toEqual(['loss 5']);
      // A timeout needs no reason.
      const silent = within().answers(5, 6).wait(100e6).read(6, 2).answers(6, 7);
      expect(kindsOf(silent, ['loss 5', 'reordering'])).toEqual(['loss 5']);
    });

    it('have no such sign where it had not asked for that before', () => {
      // Round trips are long, so that a new run is no timeout.
      const slow = new Script().read(0, 4).wait(1e6).answers(0, 3).read(4, 16).wait(1e6).answers(4, 19);
      const script = slow.read(5, 1).answers(5, 5).wait(1.5e6).read(12, 8).answers(12, 19);
      expect(kindsOf(script, VERDICTS)).toEqual(['loss 5', 'loss 12']);
    });

    it('came late when others were sent, but not that one, and however long it takes', () => {
      const third = begun().read(12, 4).answers(12, 15).read(8, 4).answers(7, 7).answers(8, 11);
      expect(kindsOf(third, VERDICTS)).toEqual(['reordering 7']);
      const slow = new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7).read(5, 3).wait(5e6).read(6, 2);
      expect(kindsOf(slow.answers(5, 7), VERDICTS)).toEqual(['reordering 5']);
    });

    it('came late when what would show that more is missing was sent too late for that, where the time is known', () => {
      /** Response `at + 1` is missing, asked for 7 us after the last, and sent again; then it takes so long. */
      const missing = (script: Script, at: number, ns: number) =>
        script
          .read(at, 4)
          .answers(at, at + 3)
          .wait(7000)
          .read(at + 1, 3)
          .answers(at + 1, at + 3)
          .wait(ns);
      /** Each response that is missing is asked for 10 us after the next one was sent. */
      const asked = (times: number) => {
        const script = new Script();
        for (let at = 0; at < 4 * times; at += 4) missing(script, at, 50e3);
        return script;
      };
      /** Response `at + 1` is, and `at + 2` after the last response since then has been on its way for that time. */
      const next = (script: Script, at: number, ns: number) => {
        missing(script, at, ns);
        return script.read(at + 2, 2).answers(at + 2, at + 3);
      };
      const late = (script: Script) => kindsOf(script, ['reordering']);
      expect(late(next(asked(3), 12, 1000))).toEqual(['reordering 13']);
      expect(late(next(asked(3), 12, 8000))).toEqual([]);
      // Another one than the next was not dropped behind it.
      const further = asked(3).read(12, 6).answers(12, 17).wait(7000).read(13, 5).answers(13, 17).read(15, 3);
      expect(late(further.answers(15, 17))).toEqual([]);
      // Another READ is answered in between.
      const other = asked(3).read(12, 4).read(16, 1).answers(12, 15).wait(7000).read(13, 3).answers(13, 15);
      expect(late(other.answers(16, 16).read(14, 2).answers(14, 15))).toEqual(['reordering 13']);
      // The first of them and this one are no measure.
      expect(late(next(asked(1), 4, 1000))).toEqual([]);
    });

    it('are lost, both, where the next one is asked for again and again, but after a timeout', () => {
      const pairs = (wait: number) => {
        const script = new Script().read(0, 1000).answers(0, 999);
        for (let at = 1000; at < 1024; at += 6)
          script
            .read(at, 6)
            .answers(at, at + 5)
            .read(at + 2, 4)
            .answers(at + 2, at + 5)
            .wait(wait)
            .read(at + 3, 3)
            .answers(at + 3, at + 5);
        return kindsOf(script, ['missing']).length;
      };
      expect(pairs(100e6)).toBe(0);
      expect(pairs(50_000)).toBeGreaterThan(3);
    });

    it('did not come late where the second request is a copy, or may be one', () => {
      const twice = (options = {}) => {
        const script = new Script(options).read(0, 4).answers(0, 3).read(4, 4).read(8, 4).answers(4, 7).answers(8, 11);
        const again = script.read(7, 1).fromA(Op.ReadRequest, 8, { length: 3 * 1024 + 100 });
        return script.see(again).see(again).answers(7, 7).answers(8, 11);
      };
      // A network that doubles packets may overtake them as well.
      expect(kindsOf(twice(), VERDICTS)).toEqual(['missing 7']);
      expect(kindsOf(twice({ ids: 'ipv6' }), VERDICTS)).toEqual(['missing 7']);
    });
  });

  describe('that were lost or overtaken', () => {
    const lost = () => new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7).read(5, 3).answers(5, 7);

    it('cannot be told when something is overtaken later', () => {
      const late = lost().read(8, 4).answers(8, 11).read(9, 3).read(10, 2).answers(9, 11);
      expect(kindsOf(late, VERDICTS)).toEqual(['missing 5', 'reordering 9']);
      const [{ ends }] = late.analyze().conversations as [ConversationReport];
      expect(ends[0].requester.responses).toMatchObject({ lostPackets: 0, undecidedPackets: 1, reorderedPackets: 1 });
      expect(kindsOf(lost().read(8, 4).answers(8, 11).read(9, 3).answers(9, 11), VERDICTS)).toEqual([
        'loss 5',
        'loss 9',
      ]);
    });

    it('cannot be told when a request is overtaken later', () => {
      const script = lost().sends(8, 9);
      const late = script.fromA(Op.SendOnly, 10);
      expect(kindsOf(script.sends(11, 12).see(late).ack(12), VERDICTS)).toContain('missing 5');
      const told = lost().read(8, 4).answers(8, 11).sends(12, 13);
      const later = told.fromA(Op.SendOnly, 14);
      // It was told to be lost as soon as all had been sent again.
      expect(kindsOf(told.sends(15, 16).see(later).ack(16), VERDICTS)).toEqual(['missing 5', 'reordering 14']);
      expect(kindsOf(lost().sends(8, 12).ack(12), VERDICTS)).toEqual(['loss 5']);
    });
  });

  it('that come while the requester waits for what it asked for again are dropped as well', () => {
    const script = new Script().read(0, 8).answers(0, 3).read(2, 6).answers(4, 7).answers(2, 4, []);
    // Its second sending of 5 is missing, the first was dropped: the requester asks for it.
    script.b(Op.ReadResponseMiddle, 6).wait(1000).read(5, 3).answers(5, 7);
    expect(kindsOf(script, ['loss'])).toEqual(['loss 2']);
  });
});

describe('a requester that goes back for a NAK after what it asks for came late', () => {
  const timeouts = ['timeout', 'retransmission'];

  it('has no timeout, when the next NAK or an ACK came first', () => {
    const twoNaks = new Script().sends(0, 9).ack(3).nak(4).nak(5).wait(2e6).sends(4, 9).ack(9);
    expect(kindsOf(twoNaks, timeouts)).toEqual(['retransmission 4+6 nak']);
    const thenAck = new Script().sends(0, 9).ack(3).nak(4).ack(6).wait(2e6).sends(4, 9).ack(9);
    expect(kindsOf(thenAck, timeouts)).toEqual(['retransmission 4+6 nak']);
  });

  it('is as slow as a busy host, or as the longest round trip, and no ACK timeout is so short', () => {
    const after = (ns: number) => new Script().sends(0, 9).ack(3).nak(4).nak(5).wait(ns).sends(4, 9).ack(9);
    expect(kindsOf(after(60e6), timeouts)).toEqual(['retransmission 4+6 nak']);
    expect(kindsOf(after(70e6), timeouts)).toEqual(['timeout 4', 'retransmission 4+6 timeout']);
    // An ACK took 50 milliseconds.
    const far = (ns: number) => new Script().sends(0, 9).wait(50e6).ack(3).nak(4).nak(5).wait(ns).sends(4, 9).ack(9);
    expect(kindsOf(far(95e6), timeouts)).toEqual(['retransmission 4+6 nak']);
    expect(kindsOf(far(105e6), timeouts)).toEqual(['timeout 4', 'retransmission 4+6 timeout']);
  });

  it('has one where that is long ago, or it goes back to something else', () => {
    const late = new Script().sends(0, 9).ack(3).nak(4).nak(5).wait(70e6).sends(4, 9).ack(9);
    expect(kindsOf(late, ['timeout'])).toEqual(['timeout 4']);
    const elsewhere = new Script().sends(0, 9).ack(3).nak(4).ack(8).wait(67e6).sends(9, 9).ack(9);
    expect(kindsOf(elsewhere, ['timeout'])).toEqual(['timeout 9']);
  });

  it('has none for the second of several NAKs that it gets to one after the other, while more come', () => {
    const script = new Script().sends(0, 20).ack(3).nak(4).ack(4).nak(5).wait(1e6).sends(4, 20);
    script.ack(8).nak(12).nak(13).wait(12e6).sends(21, 24).sends(5, 20).ack(24);
    expect(kindsOf(script, timeouts)).toEqual(['retransmission 4+17 nak', 'retransmission 5+16 nak']);
  });

  it('has none for the second of several that were outdated when it went back for the first', () => {
    const three = (ms = 12) =>
      new Script()
        .sends(0, 9)
        .ack(3)
        .nak(4)
        .nak(5)
        .nak(6)
        .wait(1e6)
        .sends(4, 9)
        .wait(ms * 1e6);
    expect(kindsOf(three().sends(5, 9).ack(9), timeouts)).toEqual(['retransmission 4+6 nak', 'retransmission 5+5 nak']);
    // Not for the first, once more.
    expect(kindsOf(three(70).sends(4, 9).ack(9), timeouts)[1]).toBe('timeout 4');
  });

  it('has none that is shorter than any in use, when it goes back to what it has gone back to for the NAK', () => {
    // Seen between guests: once for the NAK and once for its timer, 84 ms later, and nobody knows which is which.
    const twice = (ms: number, acked: number) =>
      new Script()
        .sends(0, 9)
        .ack(3)
        .nak(4)
        .wait(84e6)
        .sends(4, 9)
        .wait(11e6)
        .ack(acked)
        .wait((ms - 11) * 1e6)
        .sends(4, 9)
        .ack(9);
    expect(kindsOf(twice(44, 6), ['timeout'])).toEqual([]);
    expect(kindsOf(twice(70, 6), ['timeout'])).toEqual(['timeout 4']);
    // What the responder does not have is where a timeout goes back to.
    expect(kindsOf(twice(44, 3), ['timeout'])).toEqual(['timeout 4']);
  });

  it('nor for a READ sooner after its responses than it reacts to a gap', () => {
    const asks = (ms: number) => {
      const slow = new Script().sends(0, 3).ack(0).nak(1).wait(20e6).sends(1, 3).ack(3).read(4, 4).read(8, 4);
      const answered = slow.wait((ms - 8) * 1e6).answers(4, 7);
      return kindsOf(answered.answers(8, 11).wait(8e6).read(4, 4).read(8, 4).answers(4, 7).answers(8, 11), ['timeout']);
    };
    expect(asks(44)).toEqual([]);
    expect(asks(70)).toEqual(['timeout 4']);
  });

  it('nor for a READ that it asks for from its beginning, later than a gap makes it do so', () => {
    const asks = (ms: number) => {
      const reads = new Script().read(0, 4).answers(0, 3).read(4, 4).answers(4, 7);
      const script = reads
        .wait(ms * 1e6)
        .read(4, 4)
        .answers(4, 7);
      const told = kindsOf(script, ['timeout', 'implied-nak', 'loss', 'retransmission']);
      return told.filter((event) => !event.endsWith('duplicate-request'));
    };
    expect(asks(0.1)).toEqual(['implied-nak 4 implied-nak', 'retransmission 4 implied-nak', 'loss 4']);
    // A slow reaction, or a timeout: nothing was lost for certain.
    expect(asks(20)).toEqual(['retransmission 4 unknown']);
    expect(asks(70)).toEqual(['timeout 4', 'retransmission 4 timeout']);
  });

  it('has none for the second NAK, when what that asks for was sent again for the first', () => {
    const twice = (ns: number) =>
      new Script().sends(0, 9).ack(3).nak(4).ack(4).nak(5).wait(23e6).sends(4, 5).wait(ns).sends(5, 9).ack(9);
    expect(kindsOf(twice(0), timeouts)).toEqual(['retransmission 4+2 nak', 'retransmission 5+5 nak']);
    expect(kindsOf(twice(67e6), timeouts)).toEqual([
      'retransmission 4+2 nak',
      'timeout 5',
      'retransmission 5+5 timeout',
    ]);
  });

  it('has none where its first packets come late: nobody goes back to what is behind them', () => {
    const begins = (psn: number) => new Script().sends(0, 9).ack(3).nak(4).nak(7).wait(12e6).sends(psn, 9).ack(9);
    expect(kindsOf(begins(5), timeouts)).toEqual(['retransmission 5+5 nak']);
    const late = new Script().sends(0, 9).ack(3).nak(4).nak(7).wait(12e6);
    const first = late.fromA(Op.SendOnly, 4);
    expect(kindsOf(late.sends(5, 6).see(first).sends(7, 9).ack(9), ['timeout'])).toEqual([]);
    // What is not acknowledged is where a timeout would go back to.
    const acknowledged = new Script().sends(0, 9).ack(3).nak(4).ack(6).wait(67e6).sends(7, 9).ack(9);
    expect(kindsOf(acknowledged, ['timeout'])).toEqual(['timeout 7']);
  });

  it('goes back once for it: later repetitions have other causes', () => {
    const script = new Script().sends(0, 9).ack(3).nak(4).nak(5).wait(2e6).sends(4, 9).wait(67e6).sends(5, 9).ack(9);
    expect(kindsOf(script, ['timeout'])).toEqual(['timeout 5']);
  });
});

describe('a request that a NAK asks for while what is behind it is sent again', () => {
  const asked = () => new Script().sends(0, 20).ack(3).nak(4).wait(12e6).sends(4, 12).nak(8).wait(1e6).sends(13, 20);

  it('was overtaken when it is acknowledged before the requester went back for that NAK', () => {
    const script = asked().wait(3e6).ack(8).nak(9).wait(1e6).sends(9, 20).wait(6e6).ack(20);
    expect(kindsOf(script, VERDICTS)).toContain('reordering 8');
  });

  it('was lost when it is acknowledged after that', () => {
    const script = asked().wait(3e6).sends(8, 20).wait(6e6).ack(20);
    expect(kindsOf(script, VERDICTS)).toEqual(['loss 4', 'loss 8']);
  });
});

it('what is sent again long after a NAK may be so for a timeout: an answer to a duplicate tells nothing', () => {
  const answered = (ns: number) => {
    const script = new Script().sends(0, 9).ack(3).nak(4).wait(ns).sends(4, 9).ack(9).ack(9);
    return kindsOf(script, VERDICTS);
  };
  expect(answered(12e6)).toEqual(['reordering 4']);
  expect(answered(150e6)).toEqual(['missing 4']);
});

describe('what is overtaken while it is sent again', () => {
  const went = (wait: number) => {
    const script = new Script().sends(0, 9).ack(3).nak(4).wait(wait).sends(4, 5);
    const late = script.fromA(Op.SendOnly, 6);
    return { script: script.sends(7, 8), late };
  };

  it('belongs to what is sent again, however long ago its first sending was', () => {
    const { script, late } = went(6e6);
    const events = kindsOf(script.see(late).sends(9, 9).ack(9), ['timeout', 'retransmission']);
    expect(events).toEqual(['retransmission 4+6 nak']);
  });

  it('does so also where it is the first, and was to begin that', () => {
    const script = new Script().sends(0, 9).ack(3).nak(4).wait(12e6);
    const first = script.fromA(Op.SendOnly, 4);
    const events = kindsOf(script.sends(5, 6).see(first).sends(7, 9).ack(9), ['timeout', 'retransmission']);
    expect(events).toEqual(['retransmission 5+6 nak']);
  });

  it('leaves what comes before it in that, by the identifications, though the sender paused there', () => {
    const paused = (dropped: number) => {
      const script = new Script().sends(0, 9).ack(3).nak(4).wait(6e6).sends(4, 5);
      const late = script.fromA(Op.SendOnly, 6);
      for (let i = 0; i < dropped; i++) script.fromA(Op.SendOnly, 9);
      return kindsOf(script.wait(6e6).sends(7, 8).see(late).sends(9, 9).ack(9), ['timeout', 'retransmission']);
    };
    expect(paused(0)).toEqual(['retransmission 4+6 nak']);
    expect(paused(1)).toContain('timeout 7');
  });

  it('is sent for no timeout, however late it comes', () => {
    const { script, late } = went(6e6);
    const events = kindsOf(script.sends(9, 20).wait(38e6).see(late).sends(21, 21).nak(6), ['timeout']);
    expect(events).toEqual([]);
  });

  it('does not, when it is sent once more behind that', () => {
    const { script } = went(6e6);
    const events = kindsOf(script.sends(9, 9).wait(67e6).sends(6, 9).ack(9), ['timeout', 'retransmission']);
    expect(events).toEqual(['retransmission 4+5 nak', 'timeout 6', 'retransmission 6+4 timeout']);
  });
});
