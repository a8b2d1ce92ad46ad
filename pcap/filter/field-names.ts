/**
 * Every field that a filter can name, and the kind of its value.
 *
 * Owns the list and the names that stand for several fields. The fields of a frame are those of
 * `packets/frame-fields.ts`; a test compares the two lists.
 */

/** What a value is: decides how it is compared. */
export type FieldKind = 'number' | 'text' | 'address' | 'mac' | 'bytes' | 'time';

/** The kind of a field; undefined for a name that is none. */
export function fieldKind(name: string): FieldKind | undefined {
  const [first = name] = fieldsOf(name);
  return KINDS.get(first);
}

/** The fields that a name stands for: itself, or for names such as `ip.addr` two. */
export function fieldsOf(name: string): readonly string[] {
  return EITHER.get(name) ?? [name];
}

/** Whether only the analysis of the packets before knows the field. */
export function isAnalysisField(name: string): boolean {
  return ANALYSIS_FIELDS.has(name);
}

/** Whether fields of this name, or below it, exist: `infiniband.reth`. */
export function isHeaderName(name: string): boolean {
  return HEADERS.has(name);
}

/** All names: of fields, and of several together. */
export function fieldNames(): string[] {
  return [...KINDS.keys(), ...EITHER.keys()];
}

/** All names of headers. */
export function headerNames(): string[] {
  return [...HEADERS];
}

const ANALYSIS_FIELDS: ReadonlySet<string> = new Set(['roce.stream', 'roce.relative_psn', 'roce.marks']);

/** As tshark has them: one of the two has to pass, both where the comparison is `!=`. */
const EITHER: ReadonlyMap<string, readonly string[]> = new Map([
  ['eth.addr', ['eth.src', 'eth.dst']],
  ['ip.addr', ['ip.src', 'ip.dst']],
  ['ipv6.addr', ['ipv6.src', 'ipv6.dst']],
  ['udp.port', ['udp.srcport', 'udp.dstport']],
  ['tcp.port', ['tcp.srcport', 'tcp.dstport']],
]);

/** Common start, kind, and the ends of the names; an end of "." is the start alone. */
const FIELDS: readonly (readonly [start: string, kind: FieldKind, ends: string])[] = [
  ['frame', 'number', 'number len cap_len interface_id packet_flags_direction drop_count packet_id'],
  ['frame', 'time', 'time_epoch'],
  ['frame', 'text', 'interface_name comment'],
  ['eth', 'mac', 'dst src'],
  ['eth', 'number', 'type len'],
  ['vlan', 'number', 'priority dei id etype len'],
  ['arp', 'number', 'opcode'],
  ['arp', 'mac', 'src.hw_mac dst.hw_mac'],
  ['arp', 'address', 'src.proto_ipv4 dst.proto_ipv4'],
  [
    'ip',
    'number',
    'version hdr_len dsfield dsfield.dscp dsfield.ecn len id flags flags.df flags.mf frag_offset ttl proto checksum',
  ],
  ['ip', 'address', 'src dst'],
  ['ipv6', 'number', 'version tclass tclass.dscp tclass.ecn flow plen nxt hlim'],
  ['ipv6', 'address', 'src dst'],
  ['udp', 'number', 'srcport dstport length checksum'],
  ['tcp', 'number', 'srcport dstport'],
  ['icmp', 'number', 'type code checksum ident seq'],
  [
    'icmpv6',
    'number',
    'type code checksum echo.identifier echo.sequence_number nd.na.flag.r nd.na.flag.s nd.na.flag.o',
  ],
  ['icmpv6', 'address', 'nd.ns.target_address nd.na.target_address'],
  ['infiniband.bth', 'number', 'opcode se m padcnt tver p_key destqp a psn'],
  ['roce.bth', 'number', 'fecn becn reserved6'],
  ['infiniband.bth', 'number', 'reserved7'],
  ['roce', 'number', 'rdeth.reserved8 deth.reserved8 mad.reserved16'],
  ['infiniband.rdeth', 'number', 'eecnxt'],
  ['infiniband.deth', 'number', 'q_key srcqp'],
  ['roce.xrceth', 'number', 'xrcsrq'],
  ['roce.feth', 'number', 'placement selectivity'],
  ['infiniband.reth', 'number', 'va r_key dmalen'],
  ['infiniband.atomiceth', 'number', 'swapdt cmpdt'],
  ['infiniband.aeth', 'number', 'syndrome syndrome.reserved syndrome.opcode syndrome.credit_count syndrome.timer'],
  ['infiniband.aeth', 'number', 'syndrome.error_code syndrome.reserved_value msn'],
  ['infiniband.atomicacketh', 'number', 'origremdt'],
  ['infiniband', 'number', 'immdt ieth invariant.crc'],
  ['infiniband.mad', 'number', 'baseversion mgmtclass classversion method status classspecific'],
  ['infiniband.mad', 'number', 'transactionid attributeid attributemodifier'],
  ['infiniband.cm.req', 'number', '. serviceid serviceid.protocol serviceid.dport localcaguid localqkey localqpn'],
  [
    'infiniband.cm.req',
    'number',
    'responderres localeecn initdepth remoteeecn remoteresptout transpsvctype e2eflowctrl',
  ],
  ['infiniband.cm.req', 'number', 'startpsn localresptout retrcount pkey pppmtu rdcexist rnrretrcount maxcmretr srq'],
  ['infiniband.cm.req', 'number', 'ext_transport remoteqpneecn'],
  ['infiniband.cm.req', 'number', 'prim_locallid prim_remotelid prim_flowlabel prim_pktrate prim_tfcclass prim_hoplim'],
  ['infiniband.cm.req', 'number', 'prim_sl prim_subnetlocal prim_localacktout'],
  ['infiniband.cm.req', 'address', 'prim_localgid prim_remotegid prim_localgid_ipv4 prim_remotegid_ipv4'],
  ['infiniband.cm.req', 'number', 'alt_locallid alt_remotelid alt_flowlabel alt_pktrate alt_tfcclass alt_hoplim'],
  ['infiniband.cm.req', 'number', 'alt_sl alt_subnetlocal alt_localacktout'],
  ['infiniband.cm.req', 'bytes', 'alt_localgid alt_remotegid private ip_cm.private'],
  ['infiniband.cm.req.ip_cm', 'number', 'majv minv ipv sport'],
  ['infiniband.cm.req.ip_cm', 'address', 'sip4 dip4 sip6 dip6'],
  ['infiniband.cm.rep', 'number', '. remotecommid localqkey localqpn localeecn startpsn respres initdepth tgtackdelay'],
  ['infiniband.cm.rep', 'number', 'failoveracc e2eflowctrl rnrretrcount srq localcaguid'],
  ['infiniband.cm.rep', 'bytes', 'private'],
  ['infiniband.cm.rtu', 'number', 'localcommid remotecommid'],
  ['infiniband.cm.rtu', 'bytes', 'private'],
  ['infiniband.cm.rej', 'number', 'localcommid remotecommid msgrej rejinfolen reason'],
  ['infiniband.cm.rej', 'bytes', 'ari private'],
  ['infiniband.cm.dreq', 'number', 'localcommid remotecommid'],
  ['infiniband.cm.dreq', 'bytes', 'private'],
  ['infiniband.cm.drsp', 'number', 'localcommid remotecommid'],
  ['infiniband.cm.drsp', 'bytes', 'private'],
  ['roce.cm', 'number', 'req.vendorid req.sapsupported rep.vendorid'],
  ['roce.cm.mra', 'number', 'localcommid remotecommid messagemraed servicetimeout'],
  ['roce.cm.mra', 'bytes', 'privatedata'],
  ['roce.cm.lap', 'number', 'localcommid remotecommid remoteqpn remotecmresponsetimeout'],
  ['roce.cm.lap', 'bytes', 'privatedata'],
  ['roce.cm.apr', 'number', 'localcommid remotecommid infolength status'],
  ['roce.cm.apr', 'bytes', 'info privatedata'],
  ['roce.cm.sidr_req', 'number', 'requestid partitionkey serviceid'],
  ['roce.cm.sidr_req', 'bytes', 'privatedata'],
  ['roce.cm.sidr_rep', 'number', 'requestid status infolength vendorid qpn serviceid qkey'],
  ['roce.cm.sidr_rep', 'bytes', 'info privatedata'],
  ['roce', 'text', 'frame.status opcode.name icrc.status marks tunnel'],
  ['roce', 'number', 'payload.len stream relative_psn'],
];

const KINDS: ReadonlyMap<string, FieldKind> = new Map(
  FIELDS.flatMap(([start, kind, ends]) =>
    ends.split(' ').map((end) => [end === '.' ? start : `${start}.${end}`, kind] as const),
  ),
);

/** Every proper beginning of a name, up to a dot. */
const HEADERS: ReadonlySet<string> = new Set(
  [...KINDS.keys()].flatMap((name) => {
    const parts = name.split('.');
    return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('.'));
  }),
);
