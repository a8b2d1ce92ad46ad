/**
 * Goal: a verdict is given where nothing else is as likely, and only there. Method: what a capture shows is told step by
 * step; a round trip takes 10 us. Request 5 was overtaken, and request 505 lost, unless something else is shown.
 */
import { describe, expect, it } from 'vitest';
import { Told } from './told.ts';

/** The original of 5 comes 30 us late; all behind it until then is dropped. */
function overtaken(): Told {
  return new Told().nak(12, 5, 0).resent(13, 5).ack(24, 10).duplicate(40, 10);
}

/** Until 505 is sent again, at 1013. */
function andAsked(): Told {
  return overtaken().nak(1012, 505, 1000).resent(1013, 505);
}

function andLost(): Told {
  return andAsked().ack(1024, 510);
}

describe('answers are missing', () => {
  /** Some requests that look lost, `gap` apart. */
  const lost = (count: number, share: (lost: number) => number): string[] => {
    const told = overtaken();
    told.evidence.missingShare = share;
    for (let i = 1; i <= count; i++) {
      const at = i * 1000;
      told
        .nak(at + 12, at, at)
        .resent(at + 13, at)
        .ack(at + 24, at + 5);
    }
    return told.end();
  };

  it('all that look lost are told, or none, by their number', () => {
    expect(lost(5, () => 0.02)).toEqual(['5 overtaken', ...[1, 2, 3, 4, 5].map((i) => `${i * 1000} lost`)]);
    expect(lost(3, () => 0.02)).toEqual(['5 overtaken', ...[1, 2, 3].map((i) => `${i * 1000} unknown`)]);
  });

  it('the share that is missing is asked for as many as look lost', () => {
    const asked: number[] = [];
    lost(3, (each) => {
      asked.push(each);
      return 0.02;
    });
    expect(new Set(asked)).toEqual(new Set([3]));
  });
});

it('which of two was lost is left open where answers are missing, and so is how many', () => {
  const two = (share: number): string[] => {
    const told = overtaken().nak(1012, 505, 1000).resent(1013, 505).ack(1024, 505).nak(1026, 507, 1014);
    told.evidence.missingShare = () => share;
    return told.resent(1027, 507).ack(1038, 510).duplicate(1045, 510).end();
  };
  expect(two(0).filter((each) => each.includes('lost'))).toHaveLength(1);
  expect(two(0.02).filter((each) => each.includes('lost'))).toEqual([]);
});

describe('an ACK that comes late after the retransmission that it is for', () => {
  it('may be for the original, where others are overtaken', () => {
    expect(andAsked().acknowledged(1024, 510, 11).end()).toEqual(['5 overtaken', '505 lost']);
    expect(andAsked().acknowledged(1029, 510, 14).end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('says nothing of what is behind it, or was there before', () => {
    expect(andAsked().acknowledged(1024, 504, 14).ack(1025, 510).end()).toEqual(['5 overtaken', '505 lost']);
    expect(andLost().acknowledged(1100, 600, 14).end()).toEqual(['5 overtaken', '505 lost']);
  });

  it('may be slow where round trips vary', () => {
    const told = andAsked();
    Object.assign(told.evidence.roundTrips, { isSteady: false, longestNs: 30_000 });
    expect(told.acknowledged(1042, 510, 29).end()).toEqual(['5 overtaken', '505 lost']);
  });

  it('says nothing where nothing is overtaken', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).acknowledged(29, 10, 14);
    expect(told.end()).toEqual(['5 lost']);
  });

  it('leaves open what was sent behind it meanwhile, too', () => {
    const behind = andAsked().acknowledged(1029, 505, 14).nak(1030, 506, 1014).resent(1031, 506).ack(1042, 510);
    expect(behind.end()).toEqual(['5 overtaken', '505 unknown', '506 unknown']);
    const inTime = andAsked().acknowledged(1024, 505, 10).nak(1030, 506, 1014).resent(1031, 506).ack(1042, 510);
    expect(inTime.end()).toEqual(['5 overtaken', '505 lost', '506 lost']);
  });
});

describe('a timeout before the retransmission is acknowledged', () => {
  const again = (timeout = true) => andAsked().resent(2000, 505, { timeout });

  it('may have followed the loss of that, and the original came late: then that is all the receiver has', () => {
    const unknown = ['5 overtaken', '505 unknown'];
    expect(again().acknowledged(2011, 505, 11).end()).toEqual(unknown);
    expect(again().duplicate(2011, 505).ack(2012, 510).end()).toEqual(unknown);
    expect(again().unasked(2011, 505).ack(2012, 510).end()).toEqual(unknown);
    expect(again().resentInVain(2000, 400).duplicate(2011, 505).ack(2012, 510).end()).toEqual(unknown);
  });

  it('followed the loss of something else where the receiver has what was sent behind', () => {
    const lost = ['5 overtaken', '505 lost'];
    expect(again().ack(2011, 510).end()).toEqual(lost);
    expect(again().acknowledged(2011, 506, 11).end()).toEqual(lost);
    expect(again().unasked(2011, 506).ack(2012, 510).end()).toEqual(lost);
    expect(again(false).acknowledged(2011, 505, 11).end()).toEqual(lost);
    expect(andAsked().resent(2000, 600, { timeout: true }).acknowledged(2011, 505, 11).end()).toEqual(lost);
  });

  it('says nothing of one that asked for an ACK: it would have got that when it came late', () => {
    const asks = (asksAck: boolean) =>
      overtaken().nak(1012, 505, 1000, { asksAck }).resent(1013, 505).resent(2000, 505, { timeout: true });
    expect(asks(true).acknowledged(2011, 505, 11).end()).toEqual(['5 overtaken', '505 lost']);
    expect(asks(false).acknowledged(2011, 505, 11).end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('says nothing of one that is sent again for the first time: it would have been acknowledged before', () => {
    const told = overtaken().nak(1012, 505, 1000).resent(2000, 505, { timeout: true }).acknowledged(2011, 505, 11);
    expect(told.end()).toEqual(['5 overtaken', '505 lost']);
  });
});

describe('a NAK behind the responses of the READ before', () => {
  it('may hide that the READ came late, and what is behind it was dropped', () => {
    const behind = (readTime: number, isSteady = true) => {
      const told = overtaken();
      told.evidence.roundTrips.isSteady = isSteady;
      return told.nak(1012, 505, 1000, { readTime }).resent(1013, 505).ack(1024, 510).end();
    };
    expect(behind(13)).toEqual(['5 overtaken', '505 unknown']);
    expect(behind(12)).toEqual(['5 overtaken', '505 lost']);
    expect(behind(0, false)).toEqual(['5 overtaken', '505 lost']);
    expect(behind(12, false)).toEqual(['5 overtaken', '505 unknown']);
  });
});

describe('an answer more, shortly behind one to a late request', () => {
  const late = (told: Told, sent: number, by: number): Told =>
    told
      .nak(sent + 12, sent, sent)
      .resent(sent + 13, sent)
      .ack(sent + 24, sent + 5)
      .duplicate(sent + by + 10, sent + 5);

  /** Three requests are up to 35 us late, or `by`, 3005 is lost, and there is one answer more at `at`. */
  const answered = (at: number, by = 35, isSteady = true): string[] => {
    const told = late(late(new Told(), 1000, by), 2000, by - 8);
    told.evidence.roundTrips.isSteady = isSteady;
    told.nak(3017, 3005, 3005).resent(3018, 3005).ack(3029, 3010);
    return late(told, 4000, by - 4)
      .duplicate(at, 4008)
      .end();
  };

  it('is about what was sent behind that, and was as late: nobody missed it', () => {
    expect(answered(4055)).toContain('3005 lost');
    expect(answered(4064)).toContain('3005 lost');
  });

  it('or is that of a copy: it counts as one that comes long after, of which a tenth is too many', () => {
    expect(answered(4055)).toContain('4000 unknown');
  });

  it('may be about any, where round trips vary', () => {
    expect(answered(4055, 35, false)).not.toContain('3005 lost');
  });

  it('may be about any, when only two came late before: these may be answers to others', () => {
    const told = late(new Told(), 1000, 35).nak(3017, 3005, 3005).resent(3018, 3005).ack(3029, 3010);
    expect(late(told, 4000, 31).duplicate(4060, 4008).end()).not.toContain('3005 lost');
  });

  it('may be about any, when what came late is not known to be so by little', () => {
    expect(answered(4066)).not.toContain('3005 lost');
    expect(answered(4200, 150)).toContain('4000 overtaken');
    expect(answered(4200, 150)).not.toContain('3005 lost');
  });
});

describe('an ACK behind READ responses', () => {
  it('did not wait when it comes as soon as any does', () => {
    expect(andLost().hidden(1030, 510, 1029, 10.1).end()).toEqual(['5 overtaken', '505 lost']);
    expect(andLost().hidden(1030, 510, 1029, 10.5).end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('says nothing of a request that would have been answered before it waited, where the lateness is found', () => {
    /** Requests come twice here; three were answered 40 us after they were sent, and 4000 may have been up to 71.5. */
    const waits = (from: number, how: 'hidden' | 'duplicate' = 'hidden') => {
      const told = new Told();
      told.evidence.strayAcks = 99;
      for (const at of [1000, 2000, 3000])
        told
          .nak(at + 12, at, at)
          .resent(at + 13, at)
          .ack(at + 24, at + 5)
          .duplicate(at + 40, at + 5);
      told.nak(4012, 4000, 4000).resent(4013, 4000).ack(4024, 4005)[how](4100, 4005, from);
      return told.end().at(-1);
    };
    expect([waits(4071), waits(4072)]).toEqual(['4000 unknown', '4000 lost']);
    expect([waits(4071, 'duplicate'), waits(4072, 'duplicate')]).toEqual(['4000 unknown', '4000 lost']);
  });

  it('may have done so when round trips vary', () => {
    const told = andLost();
    told.evidence.roundTrips.isSteady = false;
    expect(told.hidden(1030, 510, 1029, 10.1).end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('answers a duplicate behind a late request, or after a timeout, however long it waited', () => {
    // 905 came late at 2040, and 906 to 910 are had twice.
    const behind = (due: number) =>
      andLost().nak(2012, 905, 2000).ack(2020, 910).resent(2021, 905).duplicate(9000, 910, due).end();
    expect(behind(2030)).toContain('505 lost');
    expect(behind(9000)).not.toContain('505 lost');
    const timeout = (due: number) => andLost().resent(5000, 600, { timeout: true }).duplicate(5100, 610, due).end();
    expect(timeout(5010)).toContain('505 lost');
    expect(timeout(5100)).not.toContain('505 lost');
  });

  it('answers what was sent in vain before, however long it waited', () => {
    const late = (due: number) => andLost().resentInVain(1100, 505).duplicate(1200, 510, due).end();
    expect(late(1110)).toEqual(['5 overtaken', '505 lost']);
    expect(late(1200)).not.toContain('505 lost');
  });
});

it('a request that is sent again and was had in order draws an answer of its own, one', () => {
  const again = (options: { timeout?: boolean; had?: boolean }) => andLost().resent(1300, 600, options);
  expect(again({ had: true }).duplicate(1310, 610).end()).toEqual(['5 overtaken', '505 lost']);
  expect(again({}).duplicate(1310, 610).end()).not.toContain('505 lost');
  // After a timeout it is the same one.
  expect(again({ had: true, timeout: true }).duplicate(1310, 610).duplicate(1312, 610).end()).not.toContain('505 lost');
});

it('an answer more behind one that was slow is not about that: what is late may be so by more', () => {
  /** Two are overtaken; an answer comes `late` after the retransmission of each; and 905 gets one more. */
  const echo = (late: number) => {
    const told = new Told();
    for (const psn of [5, 505]) {
      const at = psn === 5 ? 0 : 1000;
      told
        .nak(at + 12, psn, at)
        .resent(at + 13, psn)
        .ack(at + 24, psn + 5)
        .duplicate(at + 13 + late, psn + 5);
    }
    return told.nak(1012, 508, 1000).resent(1013, 508).ack(1024, 510).duplicate(1160, 510).end();
  };
  expect(echo(60)).not.toContain('508 lost');
});

describe('where requests come twice', () => {
  /** `late` of them are answered 40 us after they were sent, and copies are answered at any time. */
  const doubled = (late: number, end: (told: Told) => Told): string[] => {
    const told = new Told();
    told.evidence.strayAcks = 9;
    for (let i = 0; i < late; i++) {
      const at = i * 1000;
      told
        .nak(at + 12, at, at)
        .resent(at + 13, at)
        .ack(at + 24, at + 5)
        .duplicate(at + 40, at + 5)
        .duplicate(at + 300 + i * 77, at + 5);
    }
    return end(told.nak(50_012, 50_000, 50_000).resent(50_013, 50_000).ack(50_024, 50_005)).end();
  };

  it('one was lost that nothing answered until it would have come late at the latest', () => {
    expect(doubled(5, (told) => told.duplicate(50_090, 50_005))).toContain('50000 lost');
    expect(doubled(5, (told) => told.duplicate(50_060, 50_005))).toContain('50000 unknown');
    expect(doubled(5, (told) => told.duplicate(50_040, 50_005))).toContain('50000 unknown');
  });

  it('nothing is told where too few are late by the same to know by how much', () => {
    expect(doubled(2, (told) => told.duplicate(50_090, 50_005))).toContain('50000 unknown');
  });

  it('what comes sooner than its retransmission can be answered is no answer to it', () => {
    expect(doubled(5, (told) => told.duplicate(50_021, 50_005))).toContain('50000 lost');
  });

  it('so many that are late by the same look lost where answers are missing', () => {
    const told = (share: number) =>
      doubled(5, (each) => {
        each.evidence.missingShare = () => share;
        return each.duplicate(50_090, 50_005);
      });
    expect(told(0.0009)).toContain('50000 lost');
    expect(told(0.0011)).toContain('50000 unknown');
  });

  it('only those count as late that are so by the same: that others came twice is no sign', () => {
    // Two more came twice; with seven that were late one loss in two hundred would be none.
    const more = (told: Told) => {
      told.evidence.missingShare = () => 0.0009;
      for (const at of [52_000, 53_000])
        told
          .nak(at + 12, at, at)
          .resent(at + 13, at)
          .ack(at + 24, at + 5)
          .duplicate(at + 100, at + 5);
      return told;
    };
    expect(doubled(5, more)).toContain('50000 lost');
    expect(doubled(6, more)).toContain('50000 lost');
  });

  it('what came late before it was sent again shows by how much, though no answer does', () => {
    /** So many requests are there 4 us later than in time, and one is answered `at` after it was sent. */
    const early = (late: number, at: number) => {
      const told = new Told();
      told.evidence.strayAcks = 99;
      for (let i = 0; i < late * 1000; i += 1000)
        told
          .nak(i + 12, i, i)
          .ack(i + 14, i + 5)
          .resentInVain(i + 15, i);
      return told
        .nak(50_012, 50_000, 50_000)
        .resent(50_013, 50_000)
        .ack(50_024, 50_005)
        .duplicate(50_000 + at, 50_005)
        .end();
    };
    expect(early(3, 60)).toContain('50000 lost');
    expect(early(3, 24)).toContain('50000 unknown');
    expect(early(2, 60)).toContain('50000 unknown');
  });

  it('what was not captured shows no lateness: it is not known when it was sent', () => {
    const told = new Told();
    told.evidence.strayAcks = 9;
    for (let at = 0; at < 5_000; at += 1_000)
      told
        .nak(at + 12, at, at, { unseen: true })
        .resent(at + 13, at)
        .ack(at + 24, at + 5)
        .duplicate(at + 40, at + 5);
    const last = told.nak(50_012, 50_000, 50_000).resent(50_013, 50_000).ack(50_024, 50_005);
    expect(last.duplicate(50_090, 50_005).end()).toContain('50000 unknown');
  });

  it('an ACK that nobody asked for is an answer like others', () => {
    expect(doubled(5, (told) => told.unasked(50_090, 50_005))).toContain('50000 lost');
    expect(doubled(5, (told) => told.unasked(50_060, 50_005))).toContain('50000 unknown');
  });

  it('one behind another that may have come late is left open, and not one behind a loss', () => {
    const behind = (answered: number) =>
      doubled(5, (told) =>
        told
          .nak(51_012, 51_000, 51_000)
          .resent(51_013, 51_000)
          .nak(51_025, 51_001, 51_014)
          .resent(51_026, 51_001)
          .ack(51_040, 51_005)
          .duplicate(answered, 51_005),
      );
    expect(behind(51_095)).toEqual(expect.arrayContaining(['51000 lost', '51001 lost']));
    // The first may have come late then, and the second is not answered so soon.
    expect(behind(51_030)).toEqual(expect.arrayContaining(['51000 unknown', '51001 unknown']));
  });

  it('a READ is answered by its response, at any time', () => {
    const read = (told: Told) => told.resent(50_014, 50_000, { read: true }).responseAgain(50_040, 50_000);
    expect(doubled(5, read)).toContain('50000 unknown');
  });
});
