import * as M from '/work/wt/limits/test/pcap/analysis/limits/made-captures.ts';
const verbose = process.argv.includes('-v');
const show = (name: string, a: any, truth: string) => {
  const e = a.conversations.map((c: any) => c.ends.map((x: any) => `${x.packets}p/${x.requester.packets}r lost ${x.requester.lostPackets} unseen ${x.requester.unseenPackets} und ${x.requester.undecidedPackets} reord ${x.requester.reorderedPackets} to ${x.requester.timeouts}; resp ${x.requester.responses.packets} lost ${x.requester.responses.lostPackets} unseen ${x.requester.responses.unseenPackets}`).filter((s: string) => !s.includes('p/0r')).join(' | ')).join(' || ');
  console.log(`${name} [${truth}] ${e}`);
  for (const v of a.vantages) console.log('     @', v.place, v.hosts.join(), JSON.stringify(v.evidence));
  for (const l of a.limits) console.log('     #', l.kind, l.text);
  for (const f of a.findings) if (f.severity !== 'note' || verbose) console.log('     ', f.severity.toUpperCase(), f.id, f.text.slice(0, 300));
};
const only = process.env['ONLY'];
for (const ipVersion of [4, 6] as const) for (const work of ['write', 'read', 'mixed', 'both-ways', 'send'] as const) for (const loss of [0, 0.02]) {
  const run = await M.makeRun({ seed: 3, ipVersion, work, loss, rounds: 100 });
  const truth = `lost ${run.lostRequests} resp ${run.lostResponses}`;
  for (const place of M.PLACES) {
    const p = run.captures[place];
    const forms: Record<string, any> = {
      clean: p, s2: M.sampled(p, 2), s10: M.sampled(p, 10), s10c: M.sampled(p, 10, 'counted'), s100: M.sampled(p, 100),
      l01: M.lossy(p, 0.001), l1: M.lossy(p, 0.01), l5: M.lossy(p, 0.05), l5b: M.lossy(p, 0.05, 20),
      d1: M.oneDirection(p, 1), d2: M.oneDirection(p, 2), dbl: M.doubled(p, 300), cut: M.cut(p, 80), back: M.stepped(p, -5e9), forth: M.stepped(p, 60e9),
    };
    for (const [n, q] of Object.entries(forms)) { const name = `${ipVersion} ${work} ${loss} ${place} ${n}`; if (only === undefined || new RegExp(only).test(name)) show(name, M.analyze(q), truth); }
  }
}
