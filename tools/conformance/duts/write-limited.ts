/** Runs the suite against the limited devices, keeps the results and writes docs/conformance-devices.md. */
import { terminal } from '../../output.ts';
import { writeLimited } from './limited-page.ts';
import { runAllLimited } from './limited-run.ts';

writeLimited(
  await runAllLimited(({ id, cases, wrong, open }) => {
    void terminal.complaint(`${id}: ${cases} cases, ${wrong.length} fail, ${open.length} open`);
    for (const line of [...wrong, ...open]) void terminal.complaint(`  ${line}`);
  }),
);
