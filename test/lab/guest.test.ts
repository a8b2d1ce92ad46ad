// Goal: a guest that cannot work is refused before anything starts. Method: options outside their ranges, argument
// lists, words.
import { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Guest, type GuestOptions } from '../../tools/lab/guest.ts';
import type { Image } from '../../tools/lab/image.ts';
import { labCommand } from '../../tools/lab/main.ts';
import { unsuitableQemu } from '../../tools/lab/probe.ts';
import { qemuArguments } from '../../tools/lab/qemu.ts';

const image: Image = { kernel: '6.12', release: 'r', kernelPath: '/k', initrdPath: '/i', packages: {} };

describe('Guest.boot', () => {
  const wrong: readonly (readonly [string, Partial<GuestOptions>])[] = [
    ['an address without prefix length', { addresses: ['10.0.0.1'] }],
    ['an address that smuggles kernel parameters', { addresses: ['10.0.0.1/24 init=/bin/sh'] }],
    ['a MAC address that smuggles qemu options', { mac: '52:54:00:00:00:02,x=y' }],
    ['an MTU below that of IPv6', { mtu: 1279, addresses: ['fd00::2/64'] }],
    ['an MTU that carries no RoCE packet', { mtu: 351 }],
    ['an MTU that is no integer', { mtu: 1500.5 }],
    ['too little memory', { memoryMiB: 64 }],
    ['two wires', { tap: 'tap0', netSocket: { path: '/x' } }],
    ['an interface name that smuggles qemu options', { tap: 'tap0,script=/x' }],
  ];

  it.each(wrong)('refuses %s', async (_, options) => {
    await expect(Guest.boot({ image, ...options })).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });

  it('does not start when it has been given up already', async () => {
    await expect(Guest.boot({ image, signal: AbortSignal.abort(new Error('given up')) })).rejects.toThrow('given up');
  });
});

describe('qemuArguments', () => {
  const options = {
    image,
    controlPath: '/c',
    mac: '52:54:00:00:00:02',
    addresses: ['10.0.0.2/24', 'fd00::2/64'],
    mtu: 4200,
    memoryMiB: 512,
  };

  it('tells the device its MTU before the guest sees it, and the guest its addresses', () => {
    const args = qemuArguments({ ...options, network: { kind: 'socket', socket: new Socket() } });
    expect(args).toContain('virtio-net-pci,netdev=n0,mac=52:54:00:00:00:02,host_mtu=4200,romfile=');
    expect(args.find((arg) => arg.includes('lab.mtu'))).toContain('lab.mtu=4200 lab.addresses=10.0.0.2/24,fd00::2/64');
    expect(args).toContain('stream,id=n0,server=off,addr.type=fd,addr.str=3');
  });

  it('gives the guest a second port only where one is asked for', () => {
    const network = { kind: 'listen', path: '/w' } as const;
    const port = 'virtserialport,chardev=c1,nr=2,name=rocev2.host-control';
    expect(qemuArguments({ ...options, network })).not.toContain(port);
    const args = qemuArguments({ ...options, network, hostControlPath: '/h,i' });
    expect(args).toContain(port);
    expect(args).toContain('socket,id=c1,server=on,wait=off,path=/h,,i');
  });

  it('keeps a comma in a path from ending the option', () => {
    const args = qemuArguments({
      ...options,
      network: { kind: 'listen', path: '/a,b' },
      capturePath: '/c,d',
    });
    expect(args).toContain('stream,id=n0,server=on,addr.type=unix,addr.path=/a,,b');
    expect(args).toContain('filter-dump,id=f0,netdev=n0,file=/c,,d');
  });
});

describe('unsuitableQemu', () => {
  it.each(['QEMU emulator version 7.2.22 (Debian)', 'QEMU emulator version 10.0.2'])('accepts %s', (text) => {
    expect(unsuitableQemu(text)).toBeUndefined();
  });

  it.each([
    ['QEMU emulator version 6.2.0', /6\.2, .* needs 7\.2/],
    ['', /does not tell/],
  ])('refuses %j with a sentence', (text, sentence) => {
    expect(unsuitableQemu(text)).toMatch(sentence);
  });
});

describe('roce lab', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  it('answers a usage that makes no sense with one line and exit code 2', async () => {
    const words = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await labCommand().parseAsync(['run', '--listen', '--', 'true'], { from: 'user' });
    expect(process.exitCode).toBe(2);
    expect(words.mock.calls).toEqual([['roce lab: --listen needs --net: the socket to listen on\n']]);
  });

  it.each([[['run']], [['run', '--kernel', '5.10', '--', 'x']], [['run', '--mtu', 'big', '--', 'x']], [['nonsense']]])(
    'exits with 2 for the arguments %j',
    async (args) => {
      vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
        throw new Error(`exit ${code}`);
      });
      await expect(labCommand().parseAsync(args, { from: 'user' })).rejects.toThrow('exit 2');
      expect(exit).toHaveBeenCalledOnce();
    },
  );
});
