/** The annotated connection of this project: ten packets of a capture of Linux' rdma_rxe. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readCapture } from 'rocev2/pcap';
import { type AnnotatedOptions, annotatedPage } from './page.ts';

const CAPTURE = fileURLToPath(new URL('../../test/vectors/rxe-6.12.pcap', import.meta.url));
/** rdma_client and rdma_server of rdma-core. */
const [FIRST, LAST] = [160, 169];

/** The page of that connection. @param places where it is, and where it leads */
export function connectionPage(places: Pick<AnnotatedOptions, 'reference' | 'home'>): string {
  const packets = [...readCapture(readFileSync(CAPTURE))].filter(({ number }) => number >= FIRST && number <= LAST);
  return annotatedPage(packets, {
    title: 'An RDMA connection, byte by byte',
    introduction: [
      'Two Linux machines with the software RDMA device rdma_rxe (Linux 6.12) run rdma_server and rdma_client of rdma-core: a connection is made, each side sends the other one message, and the connection ends. These are the ten packets that it took, as they were captured.',
      'Every byte belongs to a field. Point at a byte or at a field to see which belongs to which, or tab to a field and go on with the arrow keys; headers that only carry RDMA across an ordinary network are folded.',
    ],
    hosts: new Map([
      ['52:54:00:00:00:02', 'client'],
      ['52:54:00:00:00:01', 'server'],
    ]),
    ...places,
  });
}
