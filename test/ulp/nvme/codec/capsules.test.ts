// Goal: commands, completions, descriptors and what dwords mean, against bytes written by hand from the specification.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  blocksOf,
  CmRejectStatus,
  COMMAND_BYTES,
  COMPLETION_BYTES,
  cmRejectName,
  commandName,
  dsmRangeCount,
  encodeDsmRanges,
  FABRICS_OPCODE,
  FabricsType,
  GET_LOG_PAGE,
  isDeallocation,
  isFua,
  isLimitedRetry,
  LBA_TOO_LARGE,
  lbaOf,
  mayDeallocate,
  NvmeCommand,
  NvmeCompletion,
  NvmeStatus,
  NvmOpcode,
  protectionOf,
  readCommand,
  readCompletion,
  readDsmRanges,
  readSgl,
  SglDescriptor,
  SglSubtype,
  SglType,
  STATUS_DNR,
  setBlocks,
  setDeallocation,
  statusName,
  statusType,
  writeCommand,
  writeCompletion,
  writeSgl,
} from '../../../../src/ulp/nvme/codec/index.ts';

const viewOf = (data: Uint8Array): DataView => new DataView(data.buffer, data.byteOffset, data.byteLength);
const hex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (byte) => Number.parseInt(byte, 16));

/** A Read of 8 blocks from block 0x0102030405 of namespace 7 on, identifier 0x1234, FUA. */
const READ = hex(
  `02 40 3412 07000000 00000000 00000000 0000000000000000
   0010000000ffffff 001000 efbeadde 4f
   05040302 01000000 07000040 00000000 00000000 00000000`,
);

describe('a command', () => {
  it('is read from its 64 bytes', () => {
    const command = new NvmeCommand();
    expect(readCommand(viewOf(READ), 0, COMMAND_BYTES, command)).toBe(true);
    expect(command).toMatchObject({ opcode: NvmOpcode.Read, flags: 0x40, cid: 0x12_34, nsid: 7, psdt: 1, fuse: 0 });
    expect(command.sgl).toMatchObject({ type: SglType.KeyedDataBlock, subtype: 0xf, length: 4096, key: 0xde_ad_be_ef });
    expect(command.sgl.address).toBe(0xffff_ff00_0000_1000n);
    expect(command.sgl.invalidates).toBe(true);
    expect([lbaOf(command), blocksOf(command), isFua(command)]).toEqual([0x01_02_03_04_05, 8, true]);
    expect(command.sendsData).toBe(false);
  });

  it('is written as it was read, whatever it was', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: COMMAND_BYTES, maxLength: COMMAND_BYTES }), (data) => {
        const command = new NvmeCommand();
        readCommand(viewOf(data), 0, COMMAND_BYTES, command);
        // What is reserved in a descriptor that is not keyed is not kept.
        if (command.sgl.type !== SglType.KeyedDataBlock) data.fill(0, 36, 39);
        const written = new Uint8Array(COMMAND_BYTES + 2).fill(0xa5);
        writeCommand(viewOf(written), 1, command);
        expect(written.subarray(1, -1)).toEqual(data);
        expect([written[0], written.at(-1)]).toEqual([0xa5, 0xa5]);
      }),
    );
  });

  it('that is cut off is none', () => {
    const command = new NvmeCommand();
    for (let length = 0; length < COMMAND_BYTES; length++)
      expect(readCommand(viewOf(READ), 0, length, command)).toBe(false);
    expect(readCommand(viewOf(READ.subarray(0, 63)), 0, 64, command)).toBe(false);
    expect(readCommand(viewOf(READ), 1, 64, command)).toBe(false);
    expect(command.cid).toBe(0);
  });

  it('of Fabrics has its type where others have the namespace', () => {
    const command = new NvmeCommand().begin(FABRICS_OPCODE, FabricsType.PropertyGet);
    expect([command.fabricsType, command.sendsData]).toEqual([4, false]);
    expect(command.begin(FABRICS_OPCODE, FabricsType.Connect).sendsData).toBe(true);
    expect(commandName(true, FABRICS_OPCODE, FabricsType.Connect)).toBe('Connect');
    expect(commandName(true, 0x06)).toBe('Identify');
    expect(commandName(false, 0x08)).toBe('Write Zeroes');
    expect(commandName(false, 0x7d)).toBe('I/O command 0x7d');
  });

  it('has arguments that are a structure', () => {
    const command = new NvmeCommand()
      .begin(0x02)
      .setArguments(GET_LOG_PAGE, { lid: 0x70, numd: 0x1_02_03, lpo: 1n << 33n });
    expect([command.cdw10, command.cdw11, command.cdw12, command.cdw13]).toEqual([0x02_03_00_70, 1, 0, 2]);
    expect(command.arguments(GET_LOG_PAGE)).toMatchObject({ lid: 0x70, rae: false, numd: 0x1_02_03, lpo: 1n << 33n });
  });

  it('of blocks holds every LBA up to 2^53 - 1, and reads beyond as too large', () => {
    const command = new NvmeCommand();
    for (const lba of [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]) {
      setBlocks(command, NvmOpcode.Write, 1, lba, 65_536);
      expect([lbaOf(command), blocksOf(command)]).toEqual([lba, 65_536]);
    }
    command.cdw11 = 2 ** 21;
    command.cdw10 = 0;
    expect(lbaOf(command)).toBe(LBA_TOO_LARGE);
    command.cdw11 = 0xff_ff_ff_ff;
    expect(lbaOf(command) > Number.MAX_SAFE_INTEGER).toBe(true);
    for (const [lba, blocks] of [
      [2 ** 53, 1],
      [-1, 1],
      [0.5, 1],
      [0, 0],
      [0, 65_537],
    ] as const)
      expect(() => setBlocks(command, NvmOpcode.Read, 1, lba, blocks)).toThrow(/no LBA|blocks/);
  });

  it('of blocks has its flags at their bits', () => {
    const command = new NvmeCommand();
    setBlocks(command, NvmOpcode.WriteZeroes, 1, 0, 1, { deallocate: true });
    expect([command.cdw12, mayDeallocate(command), isFua(command)]).toEqual([0x02_00_00_00, true, false]);
    setBlocks(command, NvmOpcode.Read, 1, 0, 2, { limitedRetry: true, fua: true });
    expect([command.cdw12, isLimitedRetry(command), isFua(command)]).toEqual([0xc0_00_00_01, true, true]);
    command.cdw12 = 0x3c_00_00_00;
    expect(protectionOf(command)).toBe(0xf);
  });

  it('that deallocates has ranges in its data', () => {
    const ranges = [
      { lba: 2 ** 40 + 3, blocks: 2 ** 32 - 1, attributes: 5 },
      { lba: 1, blocks: 2, attributes: 0 },
    ];
    const command = new NvmeCommand();
    setDeallocation(command, 3, 2);
    expect([dsmRangeCount(command), isDeallocation(command), command.nsid]).toEqual([2, true, 3]);
    const data = encodeDsmRanges(ranges);
    expect(data.subarray(0, 16)).toEqual(hex('05000000 ffffffff 03000000 00010000'));
    expect(readDsmRanges(data, 2)).toEqual(ranges);
    expect(readDsmRanges(data.subarray(0, 31), 256)).toEqual(ranges.slice(0, 1));
    data.fill(0xff);
    expect(readDsmRanges(data, 1)[0]?.lba).toBe(LBA_TOO_LARGE);
    expect(() => encodeDsmRanges([{ lba: 2 ** 53, blocks: 1, attributes: 0 }])).toThrow(/no range/);
    expect(() => setDeallocation(command, 1, 257)).toThrow(/1 to 256/);
  });
});

describe('a descriptor', () => {
  it('in the capsule has an offset, and 32 bits of length', () => {
    const data = hex('10000000 00000000 00020000 000000 01');
    const sgl = new SglDescriptor();
    readSgl(viewOf(data), 0, sgl);
    expect(sgl).toMatchObject({ type: SglType.DataBlock, subtype: SglSubtype.Offset, offset: 16, length: 512, key: 0 });
    const written = new Uint8Array(16).fill(0xa5);
    writeSgl(viewOf(written), 0, new SglDescriptor().setInCapsule(16, 512));
    expect(written).toEqual(data);
  });

  it('that is keyed has 24 bits of length', () => {
    const written = new Uint8Array(16).fill(0xa5);
    writeSgl(viewOf(written), 0, new SglDescriptor().setKeyed(0x1122_3344_5566_7788n, 0xab_cd_ef, 0xcafe_f00d, false));
    expect(written).toEqual(hex('8877665544332211 efcdab 0df0feca 40'));
    const sgl = new SglDescriptor();
    readSgl(viewOf(written), 0, sgl);
    expect([sgl.address, sgl.length, sgl.key, sgl.invalidates]).toEqual([
      0x1122_3344_5566_7788n,
      0xab_cd_ef,
      0xcafe_f00d,
      false,
    ]);
  });
});

describe('a completion', () => {
  it('is read and written', () => {
    const data = hex('78563412 00000000 0500 0100 3412 0340');
    const completion = new NvmeCompletion();
    expect(readCompletion(viewOf(data), 0, COMPLETION_BYTES, completion)).toBe(true);
    expect(completion).toMatchObject({ dw0: 0x12_34_56_78, dw1: 0, sqhd: 5, sqid: 1, cid: 0x12_34, phase: 1 });
    expect(completion.status).toBe(0x20_01);
    const written = new Uint8Array(16).fill(0xa5);
    writeCompletion(viewOf(written), 0, 0x12_34, 0x20_01, 5, 0x12_34_56_78, 0, 1);
    expect(written).toEqual(hex('78563412 00000000 0500 0100 3412 0240'));
    for (let length = 0; length < 16; length++) expect(readCompletion(viewOf(data), 0, length, completion)).toBe(false);
  });
});

describe('a status', () => {
  it.each([
    [NvmeStatus.Success, 'success'],
    [NvmeStatus.LbaOutOfRange, 'LBA out of range'],
    [NvmeStatus.InvalidSglOffset, 'invalid SGL offset'],
    [NvmeStatus.CommandSizeExceeded, 'command size exceeded'],
    [NvmeStatus.CompareFailure | STATUS_DNR, 'compare failure, do not retry'],
    [NvmeStatus.AnaInaccessible, 'ANA inaccessible'],
    [0x0_7f, 'generic status 7fh'],
    [0x7_01, 'vendor status 1h'],
  ])('%i is %s', (status, name) => {
    expect(statusName(status)).toBe(name);
  });

  it('of Fabrics and of NVM may have the same number', () => {
    expect(NvmeStatus.ConnectInvalidParameters).toBe(NvmeStatus.ReadOnlyRange);
    expect(statusName(0x1_82)).toBe('read only range');
    expect(statusName(0x1_82, 'fabrics')).toBe('connect invalid parameters');
    expect(statusName(0x1_91)).toBe('authentication required');
    expect(statusType(NvmeStatus.WriteFault | STATUS_DNR)).toBe(2);
  });

  it('of a refused queue has a name', () => {
    for (const status of Object.values(CmRejectStatus)) expect(cmRejectName(status)).not.toMatch(/^reason/);
    expect(cmRejectName(77)).toBe('reason 77');
  });
});
