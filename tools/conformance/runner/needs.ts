/** Whether a device has what a case takes, and whether it may be put at risk. */
import { Medium } from 'rocev2/packets';
import type { Case, Need } from '../tester/case.ts';
import type { Dut } from '../tester/dut.ts';

/** Why the case cannot be run against the device; undefined when it can. */
export function unmetNeed(dut: Dut, one: Case): string | undefined {
  for (const need of one.needs ?? []) {
    const why = unmet(dut, need);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Whether a case must not be run: it is hazardous, the device may not be crashed, and the user has not allowed it. */
export const isTooHazardous = (dut: Dut, { hazardous }: Case, allowed: boolean): boolean =>
  hazardous === true && !dut.throwAway && !allowed;

function unmet(dut: Dut, need: Need): string | undefined {
  switch (need) {
    case 'host-control':
      return dut.hostControl === undefined ? 'the device has no agent on its host' : undefined;
    case 'ethernet':
      return dut.station.medium === Medium.Ethernet ? undefined : 'the link does not carry Ethernet headers';
    case 'ipv4':
    case 'ipv6': {
      const version = need === 'ipv4' ? 4 : 6;
      const has = dut.addresses.some(({ address }) => address.version === version);
      return has ? undefined : `the device has no IPv${version} address`;
    }
    case 'virtual':
      return dut.virtual ? undefined : 'it takes virtual time';
    default: {
      const { features } = dut;
      if (features === undefined)
        return `it is unknown whether the device has ${need}: give it an agent, or --features`;
      return features.includes(need) ? undefined : `the device has no ${need}`;
    }
  }
}
