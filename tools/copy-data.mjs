/**
 * Puts what is data and no TypeScript beside the compiled tools: built-in experiments and scenarios, the page of a
 * report, the Lua for Wireshark, the agent's and the shim's C sources, the script that takes snapshots of counters.
 */
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
cpSync(at('experiments'), at('dist/experiments'), { recursive: true });
cpSync(at('sim/scenarios'), at('dist/sim/scenarios'), { recursive: true });
cpSync(at('sim/report/page'), at('dist/sim/report/page'), { recursive: true });
cpSync(at('wireshark/rocev2.lua'), at('dist/wireshark/rocev2.lua'));
cpSync(at('counters/snapshot.sh'), at('dist/counters/snapshot.sh'));
cpSync(at('conformance/agent'), at('dist/conformance/agent'), {
  recursive: true,
  filter: (path) => !/\.ts$|rocev2-agent$/.test(path),
});
cpSync(at('uverbs/shim'), at('dist/uverbs/shim'), { recursive: true });
