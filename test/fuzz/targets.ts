/**
 * The targets: each is `test/fuzz/targets/NAME.ts`, and has a corpus of that name. Owns which files of the library and
 * the tools a target is about: their blocks are counted, and guide it; what else it imports runs as it is.
 */
export const TARGETS: Readonly<Record<string, RegExp>> = {
  frame: /^packets\//,
  device: /^transport\/(?!cm)|^src\/device\/(?!cm|host\/tcp)|^packets\/(?!cm|layouts|kit|field|frame-fields|format)/,
  cm: /^transport\/cm\/|^src\/device\/cm\/|^packets\/(?:cm\/|mad)/,
  tcp: /^src\/device\/host\/tcp\//,
  pcap: /^pcap\/[^/]*$/,
  pcapng: /^pcap\/[^/]*$/,
  filter: /^pcap\/filter\//,
  scenario: /^tools\/sim\/scenario\/|^src\/sim\/(?:topology|traffic)\//,
  experiment:
    /^tools\/experiment\/(?:load|schema|names|rates|congestion-schema|filters)|^tools\/bump\/rules-file|^src\/faults\/(?:compile|rule|fields|fault-spec)/,
  agent: /^tools\/conformance\/host-control\//,
  'agent-json': /^tools\/conformance\/agent\//,
  rsockets: /^src\/ulp\/rsockets\//,
  rings: /^src\/node\/worker\/(?:post-ring|completion-ring|control)/,
  uverbs: /^src\/uverbs\/(?!sysfs|abi)/,
  lua: /^pcap\/(?:dissection|analysis\/tracker)|^packets\/(?:frame|icrc|opcode|rxe)/,
};

/** Those that need a program, by the name under which a test asks for it (test/support/need.ts). */
export const NEEDS = { 'agent-json': 'compiler', lua: 'tshark-lua' } as const;
