// Goal: management datagrams get names, values and one right line each; any bytes are taken.
// Method: MADs of real hosts (that each field is tshark's is shown in test/interop/captures.test.ts), made messages for
// those rxe never sent, properties.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CmMessage, CmRejReason, writeCmMad } from '../../packets/cm/index.ts';
import { describeCmMad, listMadFields } from '../../packets/cm-fields.ts';
import { FieldList } from '../../packets/field-list.ts';
import { isMad } from '../../packets/frame-fields.ts';
import { MAD_BYTES } from '../../packets/mad.ts';
import { readCapture } from '../../pcap/reader.ts';
import { parse } from './made-frames.ts';

function fieldsOf(mad: Uint8Array, length = mad.length) {
  const list = new FieldList();
  listMadFields(list, new DataView(mad.buffer), 0, length);
  return list.toRecord();
}

function madOf(message: CmMessage): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  writeCmMad(new DataView(mad.buffer), 0, 0x77n, message);
  return mad;
}

const lineOf = (mad: Uint8Array) => describeCmMad(new DataView(mad.buffer), 0, mad.length);
const COMM = { localCommId: 1, remoteCommId: 2 };
const NONE = new Uint8Array(0);

describe('the fields of a MAD', () => {
  it('of a REJ and of messages tshark does not know are there too', () => {
    const rej = { ...COMM, messageRejected: 1, infoLength: 4, reason: 28, info: Uint8Array.of(9), privateData: NONE };
    expect(fieldsOf(madOf({ kind: 'REJ', body: rej }))).toMatchObject({
      'infiniband.mad.attributeid': 0x12,
      'infiniband.cm.rej.localcommid': 1,
      'infiniband.cm.rej.remotecommid': 2,
      'infiniband.cm.rej.msgrej': 1,
      'infiniband.cm.rej.rejinfolen': 4,
      'infiniband.cm.rej.reason': 28,
    });
    const sidr = { requestId: 5, partitionKey: 0xffff, serviceId: 2n ** 63n, privateData: NONE };
    expect(fieldsOf(madOf({ kind: 'SIDR_REQ', body: sidr }))).toMatchObject({
      'roce.cm.sidr_req.requestid': 5,
      'roce.cm.sidr_req.serviceid': '9223372036854775808',
    });
  });

  it('of another class are its header only, and of a cut one nothing', () => {
    const mad = madOf({ kind: 'RTU', body: { ...COMM, privateData: NONE } });
    mad[1] = 0x81;
    expect(Object.keys(fieldsOf(mad))).toHaveLength(9);
    expect(lineOf(mad)).toBeUndefined();
    expect(fieldsOf(mad, 23)).toEqual({});
  });
});

describe('describeCmMad', () => {
  it.each<[string, CmMessage]>([
    ['CM RTU comm 0x00000001 for 0x00000002', { kind: 'RTU', body: { ...COMM, privateData: NONE } }],
    [
      'CM DREQ comm 0x00000001 for 0x00000002 remote qpn 0x000011',
      { kind: 'DREQ', body: { ...COMM, remoteQpn: 0x11, privateData: NONE } },
    ],
    [
      'CM REJ comm 0x00000001 for 0x00000002 ConsumerDefined',
      {
        kind: 'REJ',
        body: {
          ...COMM,
          messageRejected: 0,
          infoLength: 0,
          reason: CmRejReason.ConsumerDefined,
          info: NONE,
          privateData: NONE,
        },
      },
    ],
    [
      'CM SIDR_REQ request 0x00000005 service 0x0000000001110007',
      { kind: 'SIDR_REQ', body: { requestId: 5, partitionKey: 0xffff, serviceId: 0x1110007n, privateData: NONE } },
    ],
  ])('says %s', (expected, message) => {
    expect(lineOf(madOf(message))).toBe(expected);
  });

  it('says what real hosts send', () => {
    const sample = readFileSync(new URL('../vectors/rxe-sample.pcap', import.meta.url));
    const lines = [...readCapture(sample)].flatMap(({ bytes }) => {
      const { frame } = parse(bytes);
      if (!isMad(frame)) return [];
      return [describeCmMad(frame.view, frame.payloadOffset, frame.payloadLength)];
    });
    expect(lines.slice(0, 7)).toEqual([
      'CM REQ comm 0xae46b463 service 0x0000000001061c06 qpn 0x000011 psn 15902200',
      'CM REP comm 0x2351d992 for 0xae46b463 qpn 0x000011 psn 13918763',
      'CM RTU comm 0xae46b463 for 0x2351d992',
      'CM DREQ comm 0xae46b463 for 0x2351d992 remote qpn 0x000011',
      'CM DREP comm 0x2351d992 for 0xae46b463',
      'CM SIDR_REQ request 0xad46b463 service 0x0000000001111c06',
      'CM SIDR_REP request 0xad46b463 status 0 qpn 0x000014 qkey 0x01234567',
    ]);
  });

  it('takes any bytes', () => {
    const header = fc.constantFrom(...Array.from({ length: 12 }, (_, index) => 0x0f + index));
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 256, maxLength: 256 }),
        header,
        fc.nat({ max: 256 }),
        (mad, attribute, cut) => {
          mad.set([1, 7, 2, 3]);
          new DataView(mad.buffer).setUint16(16, attribute);
          const length = cut % 3 === 0 ? cut : MAD_BYTES;
          expect(`${describeCmMad(new DataView(mad.buffer), 0, length)}`).not.toMatch(/NaN|\[object/);
          expect(Object.values(fieldsOf(mad, length))).not.toContain(undefined);
        },
      ),
      { numRuns: 300 },
    );
  });
});
