/** Operations that put nothing on the wire, and what they change of the packets that follow. */
import { Access, WrOpcode } from '../../../src/index.ts';
import { pattern } from '../../transport/support/packets.ts';
import { bth, hexOf, type Operation, word } from './operation.ts';
import { demand } from './reliable.ts';
import { A_PSN, type End, IOVA, type Stage } from './stage.ts';

/** B lends a part of its memory to A through a window. */
async function bind(stage: Stage, b: End): Promise<number> {
  const mw = b.pd.allocMw();
  const rkey = ((mw.rkey & ~0xff) | ((mw.rkey + 1) & 0xff)) >>> 0;
  const access = Access.RemoteWrite | Access.RemoteRead;
  await demand(stage, b, {
    opcode: WrOpcode.BindMw,
    mw,
    rkey,
    bind: { mr: b.mr, addr: IOVA + 8n, length: 64, access },
  });
  return mw.rkey;
}

/** B gives a region memory, an address and a key by a work request. */
async function register(stage: Stage, b: End): Promise<number> {
  const mr = b.pd.allocMr(64);
  const access = Access.LocalWrite | Access.RemoteWrite;
  const reg = { mr, memory: new Uint8Array(64), iova: IOVA + 8n, length: 64, access, key: (mr.rkey ^ 0x55) >>> 0 };
  await demand(stage, b, { opcode: WrOpcode.RegMr, reg });
  return reg.key;
}

/** Does it, and then, if `through` says so, lets A write through the key it gave. */
function local(name: string, perform: (stage: Stage, b: End) => Promise<number>, through: boolean): Operation {
  return {
    name,
    perform: async (stage) => {
      const { a, b } = await stage.connected();
      const rkey = await perform(stage, b);
      stage.world.runUntilIdle();
      if (!through) return [];
      const remoteAddr = IOVA + 8n;
      await demand(stage, a, { opcode: WrOpcode.RdmaWrite, sges: [{ mr: a.mr, length: 8 }], remoteAddr, rkey });
      return [
        [bth(0x0a, b.qp.qpn, A_PSN), word(remoteAddr, 8), word(rkey, 4), word(8, 4), hexOf(pattern(8, 0xa))].join(''),
      ];
    },
    packets: through ? ['> RC RDMA WRITE Only', '< RC Acknowledge'] : [],
  };
}

async function invalidate(stage: Stage, b: End): Promise<number> {
  const key = await register(stage, b);
  await demand(stage, b, { opcode: WrOpcode.LocalInv, invalidateRkey: key });
  return key;
}

export const LOCAL: readonly Operation[] = [
  local('BIND MW', bind, false),
  local('WRITE through a memory window', bind, true),
  local('REG MR', register, false),
  local('WRITE to a fast-registered region', register, true),
  local('LOCAL INV', invalidate, false),
];
