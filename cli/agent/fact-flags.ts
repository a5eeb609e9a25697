import { type FactSettings, mergeCidrs } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';

/** What is said of the member rather than what the agent finds there. */
export interface FactFlags {
  readonly provider?: string;
  readonly region?: string;
  readonly podCidrs?: string;
  readonly serviceCidrs?: string;
  readonly nodeLabelThreshold?: string;
}

/** The hub shows no longer ones. */
const longestName = 64;
const mostCidrs = 16;

function nameOf(flag: string, text: string): string {
  if (text.length <= longestName) return text;
  throw new RollcallError('USAGE', `${flag} "${text}" is longer than ${longestName} characters`);
}

function cidrsOf(flag: string, text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  const wrong = parts.find((part) => mergeCidrs([part]).length === 0);
  if (wrong !== undefined)
    throw new RollcallError('USAGE', `${flag} "${wrong}" is no range of addresses such as 10.0.0.0/16`);
  if (parts.length > mostCidrs) throw new RollcallError('USAGE', `${flag} has more than ${mostCidrs} ranges`);
  return parts;
}

function percentOf(flag: string, text: string): number {
  const percent = Number(text);
  // Of more than half of the nodes a label has one value.
  if (/^\d{1,3}$/.test(text) && (percent === 0 || (percent > 50 && percent <= 100))) return percent;
  throw new RollcallError('USAGE', `${flag} "${text}" is neither 0 nor a whole number from 51 to 100`);
}

/**
 * Flags over environment; an empty variable says nothing.
 * @throws RollcallError USAGE
 */
export function factSettingsOf(
  flags: FactFlags,
  environment: Readonly<Record<string, string | undefined>>,
): FactSettings {
  function read<Value>(
    flag: string,
    given: string | undefined,
    parse: (flag: string, text: string) => Value,
  ) {
    const text = given ?? environment[`ROLLCALL_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`];
    return text === undefined || text === '' ? undefined : parse(flag, text);
  }
  return {
    provider: read('--provider', flags.provider, nameOf),
    region: read('--region', flags.region, nameOf),
    podCIDRs: read('--pod-cidrs', flags.podCidrs, cidrsOf),
    serviceCIDRs: read('--service-cidrs', flags.serviceCidrs, cidrsOf),
    nodeLabelThresholdPercent: read('--node-label-threshold', flags.nodeLabelThreshold, percentOf),
  };
}
