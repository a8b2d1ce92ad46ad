/**
 * Puts what is data and no TypeScript beside the compiled tools: built-in experiments and scenarios, the page of a report, the Lua for
 * Wireshark, the agent's C sources.
 */
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
cpSync(at('tools/experiments'), at('dist/tools/experiments'), { recursive: true });
cpSync(at('tools/sim/scenarios'), at('dist/tools/sim/scenarios'), { recursive: true });
cpSync(at('tools/sim/report/page'), at('dist/tools/sim/report/page'), { recursive: true });
cpSync(at('tools/wireshark'), at('dist/tools/wireshark'), { recursive: true });
cpSync(at('tools/conformance/agent'), at('dist/tools/conformance/agent'), {
  recursive: true,
  filter: (path) => !/\.ts$|rocev2-agent$/.test(path),
});
