/** The pingpong programs of libibverbs, by their stock names. */
import type { IpAddress } from 'rocev2/packets';
import { addPingpongOptions, PINGPONG_KINDS, type PingpongFlags, playPingpong } from '../../pingpong/main.ts';
import { type Program, program } from './program.ts';

export const pingpongs: readonly Program[] = PINGPONG_KINDS.map((kind) =>
  program({
    name: `ibv_${kind}_pingpong`,
    summary: `messages back and forth, as ibv_${kind}_pingpong of ibverbs-utils`,
    options: (command) => addPingpongOptions(command, kind),
    run: ({ device, output, signal }, flags: PingpongFlags, command) => {
      const server: IpAddress | undefined = command.processedArgs[0];
      return playPingpong(kind, device, server, flags, output, signal);
    },
  }),
);
