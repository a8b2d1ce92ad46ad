/**
 * Goal: counters alone name the symptoms that they can, and keep quiet about what is sound. Method: every scene of every
 * symptom is played by our own devices; their counters before and after are diagnosed. What counters cannot tell is a
 * table, with the reason.
 */
import { describe, expect, it } from 'vitest';
import { type CounterAnalysis, diagnose } from '../../../tools/counters/diagnose.ts';
import { allScenes, type Scene } from '../../../tools/symptoms/index.ts';
import { countersOf } from './scene-counters.ts';

const BY_HAND = 'packets made by hand: no device has counted them';
const BY_A_ROUTER = 'the drop is counted by a router, of which there is no snapshot';
const OTHER_PSN =
  'the responder counts a packet out of sequence, the requester a failed request; PSNs are in no counter';
const CAPSULES = 'to the queue pairs all is well: what a capsule says is in no counter';
const UC_GAPS = 'the scene has no receiver for its UC queue pair: nobody counts the gaps';

/** Scenes with a symptom that the counters of the hosts do not show, and why. */
const NOT_IN_COUNTERS: Readonly<Record<string, string>> = {
  'invalid-request-sequence': BY_HAND,
  'invalid-request-length': BY_HAND,
  'implied-nak-after-timeout': 'nothing came after the gap, so it is an ACK timeout like any other',
  'no-reply-port-unreachable': BY_HAND,
  'no-reply-address-unreachable': BY_HAND,
  'no-reply-mig-req': BY_HAND,
  'no-reply-refused-datagram': BY_HAND,
  'gid-mismatch-v1-v2': 'RoCE v1 is no RoCE to the receiver: the requester reports no-reply',
  'gid-mismatch-networks': BY_HAND,
  'gid-mismatch-one-address': BY_HAND,
  'vlan-mismatch-untagged': BY_HAND,
  'vlan-mismatch-ids': BY_HAND,
  'vlan-mismatch-other-network': BY_HAND,
  'pkey-mismatch-limited': BY_HAND,
  'pkey-mismatch-partitions': BY_HAND,
  'mtu-mismatch-ends': 'the receiver refuses the packets: the counter has no reason',
  'mtu-mismatch-router': BY_A_ROUTER,
  'mtu-mismatch-router-ipv6': BY_A_ROUTER,
  'mtu-mismatch-black-hole': BY_A_ROUTER,
  'mtu-mismatch-short-ends-pass': BY_A_ROUTER,
  'mtu-mismatch-short-ends-at-receiver': BY_A_ROUTER,
  'mtu-mismatch-read-responses': BY_A_ROUTER,
  'mtu-mismatch-read-responses-at-sender': BY_A_ROUTER,
  'mtu-mismatch-fragments': BY_HAND,
  'rnr-exceeded-timer-zero': 'RNR NAKs are counted, the time that they ask for is not',
  'ecn-cnp-in-data-class': 'CNPs are counted without their class',
  'ecn-not-ect': 'packets that cannot be marked are counted nowhere',
  'dscp-rewritten': 'the packets leave in the right class; a switch changes them',
  'dscp-vlan-priority': 'the VLAN tag has another priority than the DSCP: the port counts the tag only',
  'connect-timeout-dead-host': 'our connection manager does not count the messages that it sends',
  'read-stall-depth-two': 'waiting for a responder is counted by nobody',
  'read-stall-depth-one': 'waiting for a responder is counted by nobody',
  'read-stall-overrun': 'waiting for a responder is counted by nobody',
  'one-port-eight-queue-pairs': 'UDP source ports are counted by nobody',
  'one-port-both-vantages': 'UDP source ports are counted by nobody',
  'two-ports-sixteen-queue-pairs': 'UDP source ports are counted by nobody',
  'one-port-four-hosts': 'UDP source ports are counted by nobody',
  'one-port-one-socket': 'UDP source ports are counted by nobody',
  'migreq-flip-refused': 'a silence like any other: no counter has the bit',
  'migreq-flip-answers-refused': 'lost ACKs look the same: no counter has the bit',
  'migreq-flip-migration-refused': 'a silence like any other: no counter has the bit',
  'pfc-watchdog-flush': 'the counter of the watchdog is that of a switch, of which there is no snapshot',
  'pfc-watchdog-last-packets': 'the counter of the watchdog is that of a switch, of which there is no snapshot',
  'cnp-storm-more-than-packets': BY_HAND,
  'cnp-storm-without-marks': BY_HAND,
  'cnp-storm-interval-zero': 'CNPs and marks are counted for all queue pairs together: their pace is not',
  'wrong-psn-swapped': OTHER_PSN,
  'wrong-psn-cut-off': OTHER_PSN,
  'wrong-psn-at-responder': OTHER_PSN,
  'wrong-psn-other-than-announced': OTHER_PSN,
  'slow-responder-at-requester': 'how long an ACK took is counted by nobody',
  'slow-responder-own-host': BY_HAND,
  'slow-responder-no-credits': BY_HAND,
  'uc-loss-beside-rc': UC_GAPS,
  'uc-loss-alone': UC_GAPS,
  'uc-loss-before-both': UC_GAPS,
  'peer-restarted-into-the-void':
    'the requester reports retry-exceeded; that the other host has begun anew has no counter',
  'peer-restarted-two-connections':
    'the requester reports retry-exceeded; that the other host has begun anew has no counter',
  'peer-restarted-same-numbers': BY_HAND,
  'nvme-read-hangs': CAPSULES,
  'nvme-host-gives-up': CAPSULES,
  'nvme-only-command-hangs': CAPSULES,
  'nvme-disconnected-early': CAPSULES,
};

/** Sound scenes about which counters say what they say of a similar one that is not sound. */
const SAME_COUNTERS: Readonly<Record<string, string>> = {
  'duplicates-late-acks': 'the counters are those of duplicates-at-responder: late answers and lost ones look the same',
};

/** Priorities with PFC at the hosts of a scene. */
const PFC: Readonly<Record<string, number>> = {
  'dscp-directions': 3,
  'dscp-left-out': 3,
  'dscp-zero-everywhere': 0,
  'dscp-cm-apart': 3,
};

function qosOf(scene: string): string {
  const priority = PFC[scene];
  if (priority === undefined) return '';
  const flags = Array.from({ length: 8 }, (_, at) => (at === priority ? 1 : 0));
  return [
    '# section mlnx_qos -i eth0',
    'Priority trust state: dscp',
    'PFC configuration:',
    '\tpriority    0   1   2   3   4   5   6   7',
    `\tenabled     ${flags.join('   ')}`,
    '',
  ].join('\n');
}

// One after the other: the hosts of a scene are those that appear while it plays.
const results: { scene: Scene; analysis: CounterAnalysis }[] = [];
for (const scene of allScenes())
  results.push({ scene, analysis: diagnose(await countersOf(scene, () => qosOf(scene.name))) });

const alarms = (at: (typeof results)[number]): string[] => [
  ...new Set(at.analysis.findings.filter(({ severity }) => severity !== 'note').map(({ id }) => id)),
];

describe('a symptom is named', () => {
  for (const each of results.filter(({ scene }) => scene.triggers)) {
    const { name, symptom } = each.scene;
    const reason = NOT_IN_COUNTERS[name];
    if (reason === undefined) it(`${name}: ${symptom}`, () => expect(alarms(each)).toContain(symptom));
    else it(`but not ${name}: ${reason}`, () => expect(alarms(each)).not.toContain(symptom));
  }

  it('at least 16 of them', () => {
    const named = results.filter((each) => each.scene.triggers && alarms(each).includes(each.scene.symptom));
    const ids = [...new Set(named.map(({ scene }) => scene.symptom))].sort();
    expect(ids).toEqual([
      'connect-timeout',
      'connection-refused',
      'dscp-mismatch',
      'duplicate-requests',
      'ecn-misconfigured',
      'first-error',
      'gid-mismatch',
      'icrc-invalid',
      'implied-nak',
      'no-reply',
      'pfc-storm',
      'remote-access-error',
      'remote-invalid-request',
      'remote-operational-error',
      'retry-exceeded',
      'rnr-exceeded',
      'sequence-error',
    ]);
  });
});

describe('nothing is said about a similar scene that is sound', () => {
  for (const each of results.filter(({ scene }) => !scene.triggers)) {
    const { name, alsoFinds = [] } = each.scene;
    // With other traffic at the port, a silent peer is one that does not answer any more.
    const right = new Set([...alsoFinds, ...(alsoFinds.includes('no-reply') ? ['retry-exceeded'] : [])]);
    const reason = SAME_COUNTERS[name];
    if (reason === undefined) it(name, () => expect(alarms(each).filter((id) => !right.has(id))).toEqual([]));
    else it(`but ${name}: ${reason}`, () => expect(alarms(each)).not.toEqual([]));
  }
});
