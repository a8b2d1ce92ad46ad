/** Every message of the connection manager, each in the exchange it belongs to. */

import { CmRejReason, CmSidrStatus } from '../../../packets/cm/index.ts';
import { type Connection, type Device, IpAddress, QpType } from '../../../src/index.ts';
import { type Golden, hexOf, type Operation, word } from './operation.ts';
import type { Ends, Stage } from './stage.ts';

const PORT = 7471;
const CONNECTS = ['> UD SEND Only, CM REQ', '< UD SEND Only, CM REP', '> UD SEND Only, CM RTU'];
const SECOND = 1e9;

interface Connections {
  readonly active: Connection;
  readonly passive: Connection;
}

/** A connection from A to B by the connection manager. */
async function connect(stage: Stage, { a, b }: Ends): Promise<Connections> {
  const listener = stage.b.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: b.qp, privateData: Uint8Array.of(4, 5) }));
  const connecting = stage.a.cm.connect({ ...question(stage), qp: a.qp });
  const [active, passive] = await stage.world.run(Promise.all([connecting, accepting]));
  stage.world.runFor(SECOND);
  return { active, passive };
}

const question = (stage: Stage) => ({
  address: stage.addressOfB,
  port: PORT,
  localPort: 40_000,
  privateData: Uint8Array.of(1, 2, 3),
});

/** An exchange of queue pairs of a type; whatever it promises is waited for. */
function exchange(
  name: string,
  type: QpType,
  perform: (stage: Stage, ends: Ends) => Promise<unknown>,
  packets: readonly string[],
  golden: (stage: Stage, ends: Ends) => Golden | undefined = () => undefined,
): Operation {
  return {
    name,
    packets,
    perform: async (stage) => {
      const ends = stage.ends(type);
      await perform(stage, ends);
      stage.world.runFor(SECOND);
      return golden(stage, ends);
    },
  };
}

export const MANAGEMENT: readonly Operation[] = [
  exchange('REQ, REP and RTU', QpType.Rc, connect, CONNECTS),
  exchange('REQ, REP and RTU of an unreliable connection', QpType.Uc, connect, CONNECTS),
  exchange(
    'REQ, REP and RTU of an extended reliable connection',
    QpType.XrcSend,
    (stage, { a, b }) => connect(stage, { a, b: { ...b, qp: stage.b.openXrcd().createQp() } }),
    CONNECTS,
  ),
  exchange(
    'DREQ and DREP',
    QpType.Rc,
    async (stage, ends) => {
      const { active } = await connect(stage, ends);
      await stage.world.run(active.disconnect(Uint8Array.of(7)));
    },
    [...CONNECTS, '> UD SEND Only, CM DREQ', '< UD SEND Only, CM DREP'],
  ),
  exchange(
    'REJ',
    QpType.Rc,
    async (stage, { a }) => {
      const listener = stage.b.cm.listen(PORT);
      void listener.next().then(({ value }) => value.reject(Uint8Array.of(9), CmRejReason.ConsumerDefined));
      const asked = stage.a.cm.connect({ ...question(stage), qp: a.qp });
      await stage.world.run(asked.catch(() => undefined));
    },
    ['> UD SEND Only, CM REQ', '< UD SEND Only, CM REJ'],
  ),
  exchange(
    'MRA',
    QpType.Rc,
    async (stage, { a, b }) => {
      const listener = stage.b.cm.listen(PORT);
      const connecting = stage.a.cm.connect({ ...question(stage), qp: a.qp });
      const { value: request } = await stage.world.run(listener.next());
      request.delay(20);
      stage.world.runFor(SECOND);
      await stage.world.run(Promise.all([connecting, request.accept({ qp: b.qp })]));
    },
    ['> UD SEND Only, CM REQ', '< UD SEND Only, CM MRA', '< UD SEND Only, CM REP', '> UD SEND Only, CM RTU'],
    // Which message it acknowledges (0 is REQ) in two bits, and the time that is asked for in five.
    (stage) => [undefined, mad(MRA, `${commId(stage, REP)}${commId(stage, REQ)}00${word(20 << 3, 1)}`)],
  ),
  exchange(
    'LAP and APR',
    QpType.Rc,
    async (stage, ends) => {
      const { active } = await connect(stage, ends);
      const destination = IpAddress.parse(stage.addressOfB);
      await stage.world.run(active.loadAlternatePath({ destination, flowLabel: 0x5_43_21 }));
    },
    [...CONNECTS, '> UD SEND Only, CM LAP', '< UD SEND Only, CM APR'],
    (stage, { b }) => {
      const [ofA, ofB] = [commId(stage, REQ), commId(stage, REP)];
      const lids = 'ffffffff';
      const ways = gid(stage, stage.a) + gid(stage, stage.b);
      // The peer's queue pair and its time to answer; label and class; hop limit; neither rate nor service level; the
      // ACK timeout.
      const lap = [ofA, ofB, '00000000', word(b.qp.qpn, 3), word(20 << 3, 1), '00000000', lids, ways, '54321000'];
      return [
        undefined,
        undefined,
        undefined,
        mad(LAP, `${lap.join('')}400000${word(17 << 3, 1)}`),
        mad(APR, ofB + ofA),
      ];
    },
  ),
  exchange(
    'SIDR REQ and SIDR REP',
    QpType.Ud,
    async (stage, { a, b }) => {
      stage.b.cm.listenUd(PORT, { qp: b.qp, privateData: Uint8Array.of(6) });
      await stage.world.run(stage.a.cm.resolveUd({ ...question(stage), pd: a.pd }));
    },
    ['> UD SEND Only, CM SIDR_REQ', '< UD SEND Only, CM SIDR_REP'],
    (stage, { b }) => [
      mad(SIDR_REQ, sidrQuestion(stage)),
      // Status 0, the queue pair, the service again, and RDMA_UDP_QKEY.
      mad(SIDR_REP, [commId(stage, SIDR_REQ), '00000000', word(b.qp.qpn, 3), '00', SERVICE, '01234567'].join(''), '06'),
    ],
  ),
  exchange(
    'SIDR REP that refuses',
    QpType.Ud,
    async (stage, { a }) => {
      const listener = stage.b.cm.listenUd(PORT);
      void listener.next().then(({ value }) => value.reject(CmSidrStatus.NoQp, Uint8Array.of(5)));
      await stage.world.run(stage.a.cm.resolveUd({ ...question(stage), pd: a.pd }).catch(() => undefined));
    },
    ['> UD SEND Only, CM SIDR_REQ', '< UD SEND Only, CM SIDR_REP'],
    (stage) => [
      mad(SIDR_REQ, sidrQuestion(stage)),
      mad(SIDR_REP, [commId(stage, SIDR_REQ), '03000000', '00000000', SERVICE].join(''), '05'),
    ],
  ),
];

/**
 * Attribute ID and modifier of a MAD, and its 232 bytes; private data of a SIDR REP begins at byte 96
 * (linux:ibta_vol1_c12.h).
 */
function mad(attribute: number, data: string, privateData = ''): string {
  const body = privateData === '' ? data : data.padEnd(2 * 96, '0') + privateData;
  return `${word(attribute, 2)}000000000000${body.padEnd(2 * MAD_DATA_BYTES, '0')}`;
}

/** The first word of the first message of a kind that was sent: its sender's communication ID, or the request's ID. */
function commId({ frames }: Stage, attribute: number): string {
  const found = frames.find(({ bytes }) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return bytes.length > MAD_END && view.getUint16(bytes.length - MAD_END + ATTRIBUTE_AT) === attribute;
  });
  const at = (found?.bytes.length ?? 0) - MAD_END + MAD_HEADER_BYTES;
  return hexOf(found?.bytes.subarray(at, at + 4) ?? new Uint8Array(0));
}

/**
 * ID, P_Key, service, and the header that rdma_cm puts before the private data: versions, port, addresses
 * (rdma:cma.c#cma_hdr).
 */
function sidrQuestion(stage: Stage): string {
  const ports = `00${stage.version}0${word(40_000, 2)}`;
  const [from, to] = [stage.a, stage.b].map((device) => gid(stage, device).replace(/^0{20}f{4}/, '0'.repeat(24)));
  return [commId(stage, SIDR_REQ), 'ffff0000', SERVICE, ports, from, to, '010203'].join('');
}

/** A device's address as a GID: an IPv4 address behind ::ffff. */
function gid({ version }: Stage, { addresses }: Device): string {
  const text = addresses[0]?.address.toString() ?? '';
  if (version === 6) return `fd00${word(Number(text.split('::')[1]), 14)}`;
  return `${'0'.repeat(20)}ffff${text
    .split('.')
    .map((byte) => word(Number(byte), 1))
    .join('')}`;
}

/** RDMA_PS_UDP and the port. */
const SERVICE = `000000000111${word(PORT, 2)}`;
const MAD_HEADER_BYTES = 24;
const MAD_DATA_BYTES = 232;
/** From the end of a frame: the ICRC, and the MAD before it. */
const MAD_END = 4 + MAD_DATA_BYTES + MAD_HEADER_BYTES;
const ATTRIBUTE_AT = 16;
const [REQ, MRA, REP, SIDR_REQ, SIDR_REP, LAP, APR] = [0x10, 0x11, 0x13, 0x17, 0x18, 0x19, 0x1a];
