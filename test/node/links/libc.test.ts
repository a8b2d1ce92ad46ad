/**
 * Goal: system calls work from Node on plain memory, and what cannot work says why in a sentence. Method: calls whose
 * outcome is known: an event counter, a mapping, descriptors and interfaces that do not exist.
 */
import { afterEach, expect, it, vi } from 'vitest';
import type { RoceError } from '../../../packets/errors.ts';
import {
  EACCES,
  EBADF,
  EBUSY,
  ENETDOWN,
  ENODEV,
  EPERM,
  type Libc,
  loadLibc,
  O_NONBLOCK,
  O_RDWR,
  systemError,
} from '../../../src/node/links/libc.ts';
import { describeWith } from '../../support/need.ts';

async function load(): Promise<Libc | RoceError> {
  vi.resetModules();
  const { loadLibc: fresh } = await import('../../../src/node/links/libc.ts');
  return fresh().catch((error: RoceError) => error);
}

afterEach(() => {
  vi.doUnmock('koffi');
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describeWith('koffi', 'the C library', () => {
  it('is bound once', async () => {
    expect(await loadLibc()).toBe(await loadLibc());
  });

  it('reads and writes memory by buffer, by view and by address', async () => {
    const libc = await loadLibc();
    const fd = libc.eventfd(5, O_NONBLOCK);
    const counter = new BigUint64Array(new ArrayBuffer(16));
    const bytes = new Uint8Array(counter.buffer);
    expect(libc.read(fd, counter.buffer, 8)).toBe(8);
    expect([...counter]).toEqual([5n, 0n]);
    expect(libc.write(fd, bytes, 8)).toBe(8);
    expect(libc.read(fd, libc.address(bytes) + 8, 8)).toBe(8);
    expect([...counter]).toEqual([5n, 5n]);
    expect(libc.address(bytes.subarray(8)) - libc.address(counter.buffer)).toBe(8);
    expect(libc.close(fd)).toBe(0);
  });

  it('says by number why a call failed', async () => {
    const libc = await loadLibc();
    expect(libc.close(-1)).toBe(-1);
    expect(libc.errno()).toBe(EBADF);
    expect(libc.open('/nowhere/at/all', O_RDWR)).toBe(-1);
    expect(systemError('ERR_ROCE_CLOSED', libc.errno(), 'opening').message).toBe(
      'opening: no such file or directory (ENOENT)',
    );
  });

  it('shows mapped memory as a buffer', async () => {
    const libc = await loadLibc();
    const address = libc.mmap(null, 8192, 3, 0x22, -1, 0);
    const view = new Uint8Array(libc.view(address, 8192));
    expect(view.length).toBe(8192);
    view.fill(7);
    expect(view[8191]).toBe(7);
    expect(libc.munmap(address, 8192)).toBe(0);
    expect(libc.mmap(null, 0, 3, 0x22, -1, 0)).toBe(-1);
  });
});

describeWith('koffi', 'a failed call', () => {
  it.each([
    [EPERM, 'opening a packet socket: it needs the privilege CAP_NET_RAW (EPERM)'],
    [EACCES, 'opening a packet socket: it needs the privilege CAP_NET_RAW (EACCES)'],
    [ENODEV, 'opening a packet socket: there is no such interface (ENODEV)'],
    [ENETDOWN, 'opening a packet socket: the interface is down (ENETDOWN)'],
    [EBUSY, 'opening a packet socket: another process uses it (EBUSY)'],
    [EBADF, 'opening a packet socket: bad file descriptor (EBADF)'],
    [4000, 'opening a packet socket: unknown error (errno 4000)'],
  ])('with error number %i becomes a sentence', (errno, message) => {
    const error = systemError('ERR_ROCE_LINK_UNAVAILABLE', errno, 'opening a packet socket', 'CAP_NET_RAW');
    expect(error).toMatchObject({ name: 'RoceError', code: 'ERR_ROCE_LINK_UNAVAILABLE', message });
  });

  it('names no privilege where none was lacking', () => {
    expect(systemError('ERR_ROCE_CLOSED', EPERM, 'sending').message).toBe('sending: operation not permitted (EPERM)');
  });
});

describeWith('koffi', 'without what it needs, the binding', () => {
  it('names the package to install', async () => {
    vi.doMock('koffi', () => {
      throw new Error('Cannot find package');
    });
    const error = await load();
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: 'ERR_ROCE_LINK_UNAVAILABLE' });
    expect(error instanceof Error && error.message).toMatch(
      /^native links need the package koffi: npm install koffi \(/,
    );
  });

  it('names the machine it is made for', async () => {
    vi.stubGlobal('process', Object.create(process, { platform: { value: 'darwin' } }));
    expect(await load()).toMatchObject({
      code: 'ERR_ROCE_LINK_UNAVAILABLE',
      message: expect.stringMatching(/^native links need Linux on x64 or arm64, and this is darwin on /),
    });
  });
});
