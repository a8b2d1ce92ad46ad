/**
 * Goal: a controller that answers nothing more, while its adapter acknowledges, is told once the host has given up.
 * Method: capsules by hand over the real stack, in a connection whose REQ is made one of NVMe afterwards.
 */
import { describe, expect, it } from 'vitest';
import { CmAttribute, IP_CM_HEADER_BYTES } from '../../../../packets/cm/index.ts';
import { MAD_HEADER_BYTES } from '../../../../packets/mad.ts';
import { Op } from '../../../../packets/opcode.ts';
import type { Finding } from '../../../../pcap/analysis/types.ts';
import { mendIcrc, rewriteCapture } from '../../../../tools/symptoms/rewrite.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { analyze } from './support.ts';

const REQUEST_PRIVATE_DATA_AT = MAD_HEADER_BYTES + 140 + IP_CM_HEADER_BYTES;
const FABRICS = 0x7f;
const CONNECT = 0x01;
const KEEP_ALIVE = 0x18;
const READ = 0x02;
const FORMAT = 0x80;

interface Silence {
  readonly queue?: number;
  /** The command without a response. */
  readonly opcode?: number;
  readonly seconds?: number;
  readonly disconnects?: boolean;
  /** How long the commands before took. */
  readonly slowS?: number;
}

async function found(silence: Silence): Promise<Finding[]> {
  const { queue = 1, opcode = READ, seconds = 6, disconnects = true, slowS = 0.001 } = silence;
  const capture = await play({ vantages: ['A'] }, async (stage) => {
    const { a, b, connection } = await stage.connect(stage.host('A'), stage.host('B'), { cm: true });
    const command = async (code: number, cid: number): Promise<void> => {
      const capsule = a.mr.bytes.subarray(0, 64);
      capsule.fill(0);
      capsule.set([code, 0x40, cid, 0, code === FABRICS ? CONNECT : 1]);
      b.receive();
      await a.send(64);
    };
    const respond = async (cid: number): Promise<void> => {
      b.mr.bytes.fill(0, 0, 16);
      b.mr.bytes[12] = cid;
      a.receive();
      await b.send(16);
    };
    for (const cid of [0, 1, 2]) {
      await command(cid === 0 ? FABRICS : READ, cid);
      await stage.sleep(slowS * 1e9);
      await respond(cid);
    }
    await command(opcode, 3);
    await stage.goOn(seconds * 1e9);
    if (!disconnects) await command(READ, 4);
    if (disconnects) await connection?.disconnect();
    await stage.goOn(1e9);
  });
  const asNvme = rewriteCapture(capture, (packet) => {
    const { view, frame } = packet;
    if (frame.opcode !== Op.UdSendOnly || view.getUint16(frame.payloadOffset + 16) !== CmAttribute.REQ) return true;
    const at = frame.payloadOffset + REQUEST_PRIVATE_DATA_AT;
    [0, queue, 32, 31].forEach((value, index) => {
      view.setUint16(at + 2 * index, value, true);
    });
    mendIcrc(packet);
    return true;
  });
  return analyze(asNvme).findings.filter(({ id }) => id === 'nvme-no-completion');
}

describe('a controller that answers nothing more', () => {
  it('is an error when the host disconnects after five seconds', async () => {
    const [error, ...others] = await found({});
    expect(others).toEqual([]);
    expect(error).toMatchObject({
      severity: 'error',
      evidence: { identifier: 3, opcode: READ, commands: 1, laterResponses: 0, gaveUp: 'yes' },
    });
    expect(error?.text).toMatch(
      /was delivered and has no response, and in 6 s the controller answered nothing more, while its adapter acknowledged\. The queue was disconnected/,
    );
  });

  it('is one on the admin queue, where a Keep Alive runs out', async () => {
    const [error] = await found({ queue: 0, opcode: KEEP_ALIVE });
    expect(error?.text).toContain('The NVMe command Keep Alive');
  });

  it('is none before five seconds, where the host waits on, and for a Format', async () => {
    expect(await found({ seconds: 4.9 })).toEqual([]);
    expect(await found({ disconnects: false, seconds: 60 })).toEqual([]);
    expect(await found({ queue: 0, opcode: FORMAT })).toEqual([]);
  });

  it('is none where commands took a fourth of that before', async () => {
    expect(await found({ slowS: 1.6 })).toEqual([]);
    expect(await found({ slowS: 1.4 })).toHaveLength(1);
  });
});
