/**
 * Goal: a request that was captured and that a sequence NAK asks for gets one verdict, and for good reasons only.
 * Method: what a capture would show is told step by step, with times in microseconds; a round trip takes 10.
 */
import { describe, expect, it } from 'vitest';
import { Told } from './told.ts';

describe('a request that a sequence NAK asks for', () => {
  it('was lost when its retransmission is acknowledged and nothing else happens', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 8);
    expect(told.verdicts).toEqual([]);
    // The original may still come; after 100 ms it does not.
    expect(told.ack(100_030, 900).verdicts).toEqual(['5 lost']);
  });

  it('that was not captured was on its way at the NAK when that draws another one much later', () => {
    const told = (again: number) =>
      new Told().nak(100, 5, 0, { unseen: true }).resentForNak(101, 5).resentForNak(again, 5).ack(120, 8).end();
    expect(told(111)).toEqual(['5 unknown']);
    expect(told(102)).toEqual(['5 lost']);
  });

  it('was overtaken when it is acknowledged before it was sent again', () => {
    expect(new Told().nak(12, 5, 0).ack(13, 8).verdicts).toEqual(['5 overtaken']);
  });

  it('was overtaken when it is acknowledged sooner than its retransmission can be', () => {
    expect(new Told().nak(12, 5, 0).resent(13, 5).ack(20, 8).verdicts).toEqual(['5 overtaken']);
  });

  it('was overtaken when an ACK is drawn by what was sent before its retransmission, and came in time', () => {
    const drawn = (frame: number, waited = 11) =>
      new Told().nak(12, 5, 0).resent(13, 5).acknowledged(24, 10, waited, frame).end();
    expect(drawn(12)).toEqual(['5 overtaken']);
    expect(drawn(14)).toEqual(['5 lost']);
    // That one came late itself: behind the retransmission.
    expect(drawn(12, 13)).toEqual(['5 lost']);
    expect(new Told().nak(12, 5, 0).resent(13, 5).acknowledged(24, 5, 11, 12).end()).toEqual(['5 lost']);
  });

  it('was overtaken when an ACK comes too soon for what was sent again with it', () => {
    const sooner = (psn: number, since: number) =>
      new Told().nak(12, 5, 0).resent(13, 5).acknowledgedSooner(24, psn, since);
    expect(sooner(10, 13).verdicts).toEqual(['5 overtaken']);
    expect(sooner(5, 13).ack(24, 5).end()).toEqual(['5 lost']);
    // The requester has gone back once more since.
    expect(sooner(10, 14).ack(24, 10).end()).toEqual(['5 lost']);
  });

  it('was on its way when its NAK came, so that all is had twice that is sent once more for that', () => {
    /** 3 is lost. 5 was sent at 18, and once more at 22, as its NAK came at 20; an ACK of 10 is too soon for that. */
    const answers = (count: number, since = 22, arrived = false) => {
      const told = new Told().nak(2, 3, -10).resent(3, 3).ack(14, 4).nak(20, 5, 18).resent(22, 5);
      if (arrived) told.ack(28, 10);
      told.acknowledgedSooner(29, 10, since).ack(29, 10);
      for (let at = 30; at < 30 + count; at++) told.duplicate(at, 10);
      return told.end();
    };
    expect(answers(6)).toContain('3 lost');
    expect(answers(7)).not.toContain('3 lost');
    expect(answers(6, 23)).not.toContain('3 lost');
    expect(answers(6, 22, true)).not.toContain('3 lost');
  });

  it('was there then, so that all is had twice from its retransmission on', () => {
    const answers = (count: number) => {
      const told = new Told().nak(2, 3, -10).resent(3, 3).ack(14, 4);
      told.nak(26, 5, 14).resent(27, 5).acknowledged(38, 10, 11, 26);
      for (let at = 39; at < 39 + count; at++) told.duplicate(at, 10);
      return told.end();
    };
    expect(answers(6)).toEqual(['5 overtaken', '3 lost']);
    expect(answers(7)).toEqual(['5 overtaken', '3 overtaken']);
  });

  it('was overtaken when its retransmission is answered as a duplicate', () => {
    expect(new Told().nak(12, 5, 0).resent(13, 5).duplicate(24, 5).ack(25, 8).end()).toEqual(['5 overtaken']);
  });

  it('was overtaken when a duplicate of it comes later than the retransmission', () => {
    expect(new Told().nak(12, 5, 0).resent(13, 5).ack(24, 8).duplicate(500, 40).end()).toEqual(['5 overtaken']);
  });

  it('only stood behind one that came late when the NAK for it follows that one', () => {
    // 5 came late, so that 6 was dropped; its first sending was from before the retransmission of 5.
    expect(new Told().nak(12, 5, 0).nak(14, 6, 1).resent(15, 5).resent(16, 6).ack(26, 9).end()).toEqual([
      '5 overtaken',
    ]);
  });

  it('came late as well when it stood behind another, and is there before it was sent again', () => {
    expect(new Told().nak(12, 5, 0).nak(14, 6, 1).ack(15, 6).end()).toEqual(['5 overtaken', '6 overtaken']);
  });

  it('was lost although another one before it was overtaken, when it was sent after that came', () => {
    const told = new Told().nak(12, 5, 0).ack(13, 5).nak(40, 9, 28).resent(41, 9).ack(52, 12);
    expect(told.end()).toEqual(['5 overtaken', '9 lost']);
  });

  it('was sent again right before what is behind it, also where the capture lacks that', () => {
    expect(new Told().nak(12, 5, 0).resent(13, 6).ack(24, 8).end()).toEqual(['5 lost']);
    // Not for this NAK, or not for any: what is before need not have been sent again.
    expect(new Told().nak(12, 5, 0).resent(11, 6).ack(24, 8).end()).toEqual(['5 overtaken']);
    expect(new Told().nak(12, 5, 0).resent(13, 6, { timeout: true }).ack(24, 8).end()).toEqual(['5 overtaken']);
    expect(new Told().nak(12, 5, 0).resent(13, 4).ack(24, 8).end()).toEqual(['5 overtaken']);
    // Before this place that one may be lost, and come later still.
    const unseen = new Told().nak(12, 5, 0, { unseen: true }).resent(13, 6).resentForNak(40, 5);
    expect(unseen.ack(55, 8).end()).toEqual(['5 lost']);
  });

  it('is left to the late original where that is captured', () => {
    expect(new Told().nak(12, 5, 0).resent(13, 5).late(5).ack(24, 8).end()).toEqual([]);
  });

  it('means its first sending where the NAK comes right after its retransmission', () => {
    expect(new Told().nak(12, 5, 0).resent(13, 5).nak(14, 6, 13).ack(25, 9).end()).toEqual(['5 overtaken']);
  });
});

describe('it cannot be told', () => {
  it('when the request was never sent again, or never acknowledged', () => {
    expect(new Told().nak(12, 5, 0).end()).toEqual(['5 unknown']);
    expect(new Told().nak(12, 5, 0).resent(13, 5).end()).toEqual(['5 unknown']);
  });

  it('which of two that were sent again shortly before had come twice, only that one did and one was lost', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7).nak(36, 8, 20).resent(37, 8).ack(48, 9);
    expect(told.duplicate(50, 9).end()).toEqual(['5 overtaken, 1 of 2', '8 lost, 1 of 2']);
  });

  it('which of three had come twice, when two answers say that two did', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).nak(36, 8, 20).resent(37, 8).nak(60, 10, 44).resent(61, 10);
    const verdicts = ['5 overtaken, 2 of 3', '8 overtaken, 2 of 3', '10 lost, 1 of 3'];
    expect(told.ack(72, 10).duplicate(75, 10).duplicate(110, 10).end()).toEqual(verdicts);
  });

  it('what an answer is about that is due already: a request sent again in vain behind a late one is answered once', () => {
    const told = new Told().nak(12, 5, 0).ack(13, 5).resentInVain(14, 5).duplicate(26, 5);
    // It is about the next request, which was sent again since.
    expect(told.nak(27, 6, 15).resent(28, 6).ack(39, 6).duplicate(40, 6).end()).toEqual(['5 overtaken', '6 overtaken']);
  });

  it('how many of a group were lost, where an answer came long after: another may have been taken for a new ACK', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7).nak(36, 8, 20).resent(37, 8).ack(48, 9);
    expect(told.duplicate(2_050, 9).end()).toEqual(['5 unknown', '8 unknown']);
  });

  it('how many of a group were lost, where an answer for one of them may have waited behind READ responses', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7).nak(36, 8, 20).resent(37, 8).ack(48, 9);
    expect(told.duplicate(50, 9).hidden(60, 9).end()).toEqual(['5 unknown', '8 unknown']);
  });

  it('what became of two, where the second NAK came later than the second can draw it', () => {
    // The first came late, after its own retransmission was lost; what it drew is no loss either.
    const told = new Told().nak(112, 5, 100).resent(113, 5).nak(135, 6, 114, { behind: 115 }).resent(136, 6);
    told.evidence.latePackets = 1;
    expect(told.ack(150, 9).end()).toEqual(['5 unknown', '6 unknown']);
  });

  it('whether it was lost where others are overtaken and answers go missing', () => {
    const told = overtakenAndLost();
    told.evidence.missingShare = () => 0.03;
    expect(told.end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('whether it was lost where others are overtaken and READ responses hid the answer', () => {
    expect(overtakenAndLost().hidden(1030, 510).end()).toEqual(['5 overtaken', '505 unknown']);
    // An ACK that is too early to be about it, or up to a request before it, hides nothing.
    expect(overtakenAndLost().hidden(1015, 510).end()).toEqual(['5 overtaken', '505 lost']);
    expect(overtakenAndLost().hidden(1030, 504).end()).toEqual(['5 overtaken', '505 lost']);
    // Or one whose READ responses began when that had been answered, unless answers are known to take longer.
    expect(overtakenAndLost().hidden(1045, 510, 1038).end()).toEqual(['5 overtaken', '505 unknown']);
    expect(overtakenAndLost().hidden(1045, 510, 1042).end()).toEqual(['5 overtaken', '505 lost']);
    const slow = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 8).duplicate(45, 8);
    expect(slow.nak(1012, 505, 1000).resent(1013, 505).ack(1024, 510).hidden(1045, 510, 1042).end()).toEqual([
      '5 overtaken',
      '505 unknown',
    ]);
  });

  it('nothing of what is long ago when duplicates have just been expected, where all others came soon', () => {
    const told = (overtaken: number) => {
      const begun = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 8);
      for (let i = 1; i <= overtaken; i++) begun.nak(500 * i + 12, 100 * i, 500 * i).ack(500 * i + 13, 100 * i + 3);
      return begun.duplicate(500 * overtaken + 60, 100 * overtaken + 9).end();
    };
    // The last of them has just been overtaken, and some of what was sent behind it came twice.
    expect(told(2)).toContain('5 lost');
    // One is no rule.
    expect(told(1)).not.toContain('5 lost');
  });

  it('whether it was lost where others are overtaken and the receiver sent an ACK unasked', () => {
    expect(overtakenAndLost().unasked(1030, 510).end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('what a copy of a retransmission is that was not seen the first time', () => {
    const told = () => new Told().nak(12, 5, 0, { unseen: true }).resent(13, 5);
    expect(told().ack(24, 8).end()).toEqual(['5 lost']);
    expect(told().copy(5).ack(24, 8).end()).toEqual(['5 unknown']);
  });

  it('when a timeout had it sent again, and a duplicate is answered', () => {
    const told = new Told().nak(12, 5, 0).resent(4_000, 5, { timeout: true }).ack(4_011, 8).duplicate(4_012, 8);
    expect(told.end()).toEqual(['5 unknown']);
  });

  it('where others are overtaken, when the NAK comes long after what draws it: the receiver waited for an earlier one', () => {
    const asked = (behind: number) => overtakenAndLost().nak(2040, 905, 2000, { behind }).resent(2041, 905);
    expect(asked(2001).ack(2052, 910).end()).toEqual(['5 overtaken', '505 lost', '905 unknown']);
    // Nothing was sent behind it until then.
    expect(asked(2028).ack(2052, 910).end()).toEqual(['5 overtaken', '505 lost', '905 lost']);
  });

  it('when it was sent again behind one that the receiver waited for, and that may have been late then', () => {
    const behind = (psn: number, steady = false) => {
      const told = new Told().nak(12, 5, 0).resent(13, 5).resent(14, psn).nak(25, psn, 14).resent(26, psn).ack(37, 9);
      told.evidence.latePackets = 1;
      told.evidence.roundTrips.isSteady = steady;
      return told;
    };
    expect(behind(6).end()).toEqual(['5 lost', '6 unknown']);
    // One that is not the next one did not stand behind it, and where round trips are all alike the NAK came in time.
    expect(behind(7).end()).toEqual(['5 lost', '7 lost']);
    expect(behind(6, true).end()).toEqual(['5 lost', '6 lost']);
    // Nor did one that was sent when that had arrived.
    const there = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 5).nak(42, 6, 30).resent(43, 6).ack(54, 9);
    there.evidence.latePackets = 1;
    there.evidence.roundTrips.isSteady = false;
    expect(there.end()).toEqual(['5 lost', '6 lost']);
    // Unless the answer to that one shows that it was late.
    expect(behind(6, true).duplicate(41, 5).end()).toEqual(['5 overtaken', '6 unknown']);
    expect(behind(6, true).duplicate(25, 5).end()).toEqual(['5 overtaken', '6 lost']);
  });

  it('where others are overtaken, when a NAK is seen to be slow only later, by round trips that turn out to be alike', () => {
    const told = overtakenAndLost();
    const { roundTrips } = told.evidence;
    Object.assign(roundTrips, { isSteady: false, longestNs: 50_000 });
    told.nak(2020, 905, 2000, { behind: 2001 }).resent(2021, 905).ack(2032, 910);
    Object.assign(roundTrips, { isSteady: true });
    expect(told.end()).toEqual(['5 overtaken', '505 lost', '905 unknown']);
  });

  it('when its response comes again and it was sent again after a timeout', () => {
    const told = new Told().nak(12, 5, 0).resent(4_000, 5, { timeout: true }).ack(4_011, 8);
    expect(told.responseAgain(4_012, 5).end()).toEqual(['5 unknown']);
  });

  it('when an answer may be about it or about what was sent again after a timeout, where others are overtaken', () => {
    const told = overtakenAndLost().resent(1020, 700, { timeout: true }).duplicate(1040, 510);
    expect(told.end()).toEqual(['5 overtaken', '505 unknown']);
  });

  it('when the receiver is gone before an answer can come as late as others did', () => {
    // That of 5 came after 25: 15 late.
    expect(overtakenAndLost().end(1041)).toEqual(['5 overtaken', '505 lost']);
    expect(overtakenAndLost().end(1039)).toEqual(['5 overtaken', '505 unknown']);
    const alone = new Told().nak(1012, 505, 1000).resent(1013, 505).ack(1024, 510);
    expect(alone.end(1030)).toEqual(['505 lost']);
  });

  it('on a network that doubles packets', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).duplicate(24, 5).ack(25, 8);
    told.evidence.strayAcks = 4;
    expect(told.end()).toEqual(['5 unknown']);
  });
});

describe('a NAK that is slow', () => {
  it('means nothing where nothing was overtaken: receivers are busy at times', () => {
    expect(new Told().nak(40, 5, 0).resent(41, 5).ack(52, 8).end()).toEqual(['5 lost']);
  });

  it('is a doubt where the capture itself shows that packets come late', () => {
    const told = new Told();
    told.evidence.latePackets = 1;
    expect(told.nak(40, 5, 0).resent(41, 5).ack(52, 8).end()).toEqual(['5 unknown']);
  });
});

it('a READ that was sent again after a timeout draws no ACK: an ACK that may be about another is about that', () => {
  const told = (read: boolean) =>
    new Told().nak(12, 5, 0).resent(13, 5).ack(24, 8).resent(25, 9, { timeout: true, read }).duplicate(28, 8).end();
  expect(told(true)).toEqual(['5 overtaken']);
  expect(told(false)).toEqual(['5 lost']);
});

describe('NAKs that come when everything was sent again unasked', () => {
  /** 5 came late, 6 is asked for as well and then acknowledged; where round trips vary, or do not. */
  const verdicts = ({ again, varies }: { again: boolean; varies: boolean }) => {
    const told = new Told();
    if (varies) Object.assign(told.evidence.roundTrips, { boundNs: 0, isSteady: false });
    return told.nak(200, 5, 150, { again }).nak(201, 6, 151, { again }).ack(202, 8).end();
  };

  it('may be about the first sending, in which one stood behind a late one; the second came in order', () => {
    expect(verdicts({ again: true, varies: true })).toEqual(['5 overtaken']);
  });

  it('may be about the first sending, which was lost, where a timeout had all sent again before the NAK came', () => {
    const told = (again: boolean, varies: boolean) => {
      const each = new Told().nak(2_000, 5, 1_900, { again, afterTimeout: again });
      each.evidence.roundTrips.boundNs = varies ? 0 : 9000;
      // What comes after it is judged without it.
      return each.ack(2_050, 8).nak(3_012, 20, 3_000).resent(3_013, 20).ack(3_024, 22).end();
    };
    expect(told(true, true)).toEqual(['5 unknown', '20 lost']);
    expect(told(false, true)).toEqual(['5 overtaken', '20 lost']);
    expect(told(true, false)).toEqual(['5 overtaken', '20 lost']);
  });

  it('are about the only sending where there is no other, or about the last where round trips are all alike', () => {
    expect(verdicts({ again: false, varies: true })).toEqual(['5 overtaken', '6 overtaken']);
    expect(verdicts({ again: true, varies: false })).toEqual(['5 overtaken', '6 overtaken']);
  });
});

describe('answers to duplicates', () => {
  it('as many as requests that they may be about mean that all had come twice', () => {
    const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7).nak(36, 8, 20).resent(37, 8).ack(48, 9);
    expect(told.duplicate(50, 9).duplicate(90, 9).end()).toEqual(['5 overtaken', '8 overtaken']);
  });

  it('are about what was sent again shortly before, and not about what was long ago', () => {
    const told = overtakenAndLost().nak(2012, 905, 2000).resent(2013, 905).ack(2024, 910).duplicate(2030, 910);
    expect(told.end()).toEqual(['5 overtaken', '505 lost', '905 overtaken']);
  });

  it('are not about what was lost before this capture point', () => {
    const told = new Told().nak(12, 5, 0, { unseen: true }).resent(13, 5).ack(24, 8).duplicate(25, 8);
    expect(told.end()).toEqual(['5 lost']);
  });

  it('prove nothing where some come soon and others long after: the network doubles packets', () => {
    const told = overtakenAndLost().duplicate(1600, 600);
    expect(told.end()).toEqual(['5 unknown', '505 unknown']);
  });
});

/** 5 came late, 505 was lost a millisecond after that. */
function overtakenAndLost(): Told {
  const told = new Told().nak(12, 5, 0).resent(13, 5).ack(24, 7).duplicate(25, 7);
  return told.nak(1012, 505, 1000).resent(1013, 505).ack(1024, 510);
}

describe('where requests come late', () => {
  it('and both sendings are captured, the answer to the second is about no other request', () => {
    const told = (copy: boolean): string[] => {
      const before = new Told()
        .nak(12, 9, 0)
        .resent(13, 9)
        .ack(24, 12)
        .nak(230, 20, 0, { unseen: true })
        .resent(231, 20);
      return (copy ? before.copy(20).resentInVain(233, -1) : before).duplicate(235, 21).end();
    };
    expect(told(true)).toEqual(['9 lost', '20 unknown']);
    expect(told(false)[0]).toBe('9 overtaken');
  });
});

it('keeps 64 requests at most: the oldest gets its verdict', () => {
  const told = new Told();
  for (let psn = 0; psn < 65; psn++) told.nak(100 * psn + 12, psn, 100 * psn).resent(100 * psn + 13, psn);
  expect(told.verdicts).toEqual(['0 lost']);
});

describe('an answer to what is sent again, though the receiver may have it', () => {
  /** 5 is lost, a round trip may take 60 us, and there is one answer more. */
  const answered = (at: number, again: (told: Told) => Told, isSteady = false) => {
    const told = new Told();
    Object.assign(told.evidence.roundTrips, { longestNs: 60_000, isSteady });
    return again(told.nak(12, 5, 0).resent(13, 5).ack(24, 8))
      .duplicate(at, 8)
      .end();
  };
  const afterTimeout = (told: Told) => told.resent(4_000, 9, { timeout: true });
  const inVain = (told: Told) => told.resentInVain(4_000, 8);

  it('is expected soon; after a timeout as long as any took, where round trips vary', () => {
    expect(answered(4_059, afterTimeout)).toEqual(['5 lost']);
    expect(answered(4_061, afterTimeout)).toEqual(['5 overtaken']);
    expect(answered(4_026, afterTimeout, true)).toEqual(['5 lost']);
    expect(answered(4_028, afterTimeout, true)).toEqual(['5 overtaken']);
  });

  it('is expected no longer where it was sent in vain: a late request may be answered much later', () => {
    expect(answered(4_026, inVain)).toEqual(['5 lost']);
    expect(answered(4_028, inVain)).toEqual(['5 overtaken']);
  });
});
