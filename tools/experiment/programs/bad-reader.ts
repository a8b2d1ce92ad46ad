/** A server of rping that READs its client's buffer wrongly. */
import { type Program, program } from './program.ts';
import { RpingEnd, untilAborted, wrongKey } from './side.ts';

interface Flags {
  readonly wrongKey?: boolean;
  readonly tooLong?: boolean;
  readonly hold?: boolean;
}

export const badReader: Program = program({
  name: 'bad-reader',
  summary: 'serves one rping client, but READs its buffer with a wrong key or past its end',
  options: (command) =>
    command
      .option('--wrong-key', 'with a key that opens nothing')
      .option('--too-long', '4096 bytes more than the client has')
      .option('--hold', 'keep the connection until the program is ended'),
  run: async (context, flags: Flags) => {
    const { output, signal } = context;
    const side = new RpingEnd(context);
    side.postReceive();
    const connection = await side.accept();
    await side.next();
    const told = side.advertisement;
    side.postReceive();
    const asked = flags.wrongKey === true ? wrongKey(told) : told;
    side.read(flags.tooLong === true ? { ...asked, size: asked.size + 4096 } : asked);
    await side.untilFailure();
    const changed = side.buffer.bytes.reduce((count, byte) => count + (byte === 0 ? 0 : 1), 0);
    output.line(`bytes that the READ brought: ${changed}`);
    if (flags.hold === true) await untilAborted(signal);
    await side.end(connection);
    return 0;
  },
});
