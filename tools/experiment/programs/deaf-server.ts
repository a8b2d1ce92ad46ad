/** A server of rping that never posts a receive. */
import { integer } from '../../options.ts';
import { type Program, program } from './program.ts';
import { RpingEnd } from './side.ts';

interface Flags {
  readonly rnrRetries: number;
}

export const deafServer: Program = program({
  name: 'deaf-server',
  summary: 'accepts one rping client and posts no receive for what it SENDs',
  options: (command) =>
    command.option('--rnr-retries <count>', 'retries to ask the client for, 0 to 7', integer(0, 7), 1),
  run: async (context, { rnrRetries }: Flags) => {
    const side = new RpingEnd(context);
    const connection = await side.accept({ rnrRetryCount: rnrRetries });
    const cause = await connection.closed;
    context.output.line(`the connection has ended: ${JSON.stringify(cause)}`);
    await side.end(connection);
    return 0;
  },
});
