/** A client of rping that advertises a wrong buffer, or ends before the buffer is read. */

import { integer } from '../../options.ts';
import { advertisementOf, type RemoteBuffer, RPING_PORT } from '../../rping/protocol.ts';
import { type Program, program } from './program.ts';
import { RpingEnd, untilAborted, wrongKey } from './side.ts';

interface Flags {
  readonly a: string;
  readonly S: number;
  readonly wrongKey?: boolean;
  readonly pastTheEnd?: boolean;
  readonly vanish?: boolean;
  readonly hold?: boolean;
  readonly retries: number;
  readonly timeout: number;
}

export const badAdvertiser: Program = program({
  name: 'bad-advertiser',
  summary: 'connects to an rping server and advertises a buffer with wrong attributes',
  options: (command) =>
    command
      .requiredOption('-a <address>', 'the server')
      .option('-S <bytes>', 'bytes to advertise', integer(1, 65_535), 3000)
      .option('--wrong-key', 'with a key that opens nothing')
      .option('--past-the-end', 'with half of it behind the end of the region')
      .option('--vanish', 'destroy the queue pair after the advertisement')
      .option('--hold', 'keep the connection until the program is ended')
      .option('--retries <count>', 'retries of both sides, 0 to 7', integer(0, 7), 7)
      .option('--timeout <code>', 'of both sides, 4.096 us * 2^code', integer(1, 31), 17),
  run: async (context, flags: Flags) => {
    const { device, output, signal } = context;
    const side = new RpingEnd(context);
    side.postReceive();
    const connection = await device.cm.connect({
      address: flags.a,
      port: RPING_PORT,
      qp: side.qp,
      retryCount: flags.retries,
      ackTimeout: flags.timeout,
    });
    side.advertise(advertisedBy(side, flags));
    if (flags.vanish === true) {
      await side.next();
      // From here on this number belongs to no queue pair.
      side.qp.destroy();
      output.line('the queue pair is gone');
    } else await side.untilFailure();
    if (flags.hold === true) await untilAborted(signal);
    await side.end(connection);
    return 0;
  },
});

function advertisedBy({ buffer }: RpingEnd, { S: size, ...flags }: Flags): RemoteBuffer {
  const { iova, length, rkey } = buffer;
  if (flags.pastTheEnd === true) return { address: iova + BigInt(length - Math.floor(size / 2)), rkey, size };
  const truth = { ...advertisementOf(buffer), size };
  return flags.wrongKey === true ? wrongKey(truth) : truth;
}
