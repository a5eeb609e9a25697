import type { CalloutResult } from './measure-callout.ts';
import type { FloodResult } from './measure-flood.ts';
import type { RestoreResult } from './measure-restore.ts';
import type { RevocationResult } from './measure-revocation.ts';
import type { UnregisterResult } from './measure-unregister.ts';
import type { RenewalSpread } from './renewal-spread.ts';
import type { PartResults } from '../result.ts';
import { atLeast, atMost, ms, type Row, seconds } from '../report/table-row.ts';

function revocationRows({ few, many }: RevocationResult): Row[] {
  return [few, many].flatMap(({ live, cutMs, provenMs }) => [
    {
      what: `revoked → connection cut, ${live} live revocations, p99`,
      is: `${ms(cutMs.p99)} (p50 ${ms(cutMs.p50)})`,
      target: atMost(cutMs.p99, 300, '300 ms'),
    },
    { what: '… every server seen to refuse the key, p99', is: ms(provenMs.p99) },
  ]);
}

function rateRow(what: string, rate: number): Row {
  return {
    what: `${what}, a core and second`,
    is: rate.toFixed(0),
    target: atLeast(rate, 400, '400'),
  };
}

function calloutRows(result: CalloutResult): Row[] {
  const { callouts, calloutsPerCoreSecond, renewals, renewalsPerCoreSecond } = result;
  return [
    rateRow(`callouts answered with a credential (${callouts}, xkey)`, calloutsPerCoreSecond),
    rateRow(`renewals answered with a credential (${renewals})`, renewalsPerCoreSecond),
    ...Object.entries(result.cpuMsPerCallout).map(([name, used]) => ({
      what: `… CPU per callout, ${name}`,
      is: `${used.toFixed(2)} ms`,
    })),
  ];
}

function renewalRow({ joined, agents, ratio, busiestMinute }: RenewalSpread): Row {
  return {
    what: `renewals of ${agents} agents that came ${joined}: busiest minute ÷ mean`,
    is: `${ratio.toFixed(2)} (${busiestMinute} in a minute)`,
    target: atMost(ratio, 1.5, '1.5'),
  };
}

function floodRows(result: FloodResult): Row[] {
  const { kind, ratio, ratioToBurner, idleMs, floodedMs, besideBurnerMs, sentPerSecond, usedCores } = result;
  return [
    {
      what: `joins during a flood (${kind}) ÷ idle, p50`,
      is: `${ratio.toFixed(2)} (${ms(floodedMs.p50)} to ${ms(idleMs.p50)})`,
      target: atMost(ratio, 2, '2'),
    },
    {
      what: '… ÷ joins beside a process that only takes as much CPU, p50',
      is: `${ratioToBurner.toFixed(2)} (${ms(floodedMs.p50)} to ${ms(besideBurnerMs.p50)})`,
    },
    { what: '… p99', is: `${ms(floodedMs.p99)} to ${ms(idleMs.p99)}` },
    { what: '… sent a second', is: sentPerSecond.toFixed(0) },
    ...Object.entries(usedCores).map(([name, cores]) => ({
      what: `… cores used, ${name}`,
      is: cores.toFixed(2),
    })),
  ];
}

function unregisterRows({ count, goneMs, namespaceGoneMs }: UnregisterResult): Row[] {
  return [
    {
      what: `unregister → cluster gone (${count}), p50`,
      is: ms(goneMs.p50),
      target: atMost(goneMs.p50, 500, '500 ms'),
    },
    { what: '… p99', is: ms(goneMs.p99) },
    { what: '… → namespace gone, which Kubernetes does, p50', is: ms(namespaceGoneMs.p50) },
  ];
}

function restoreRow({ clusters, servingMs }: RestoreResult): Row {
  return {
    what: `a hub of ${clusters} clusters restored and serving`,
    is: seconds(servingMs),
    target: atMost(servingMs, 60_000, '60 s'),
  };
}

/** Who is let in and put out, and how fast. */
export function trustRows(result: PartResults): Row[] {
  const { revocation, callout, renewal, flood, unregister, restore } = result;
  return [
    ...(revocation ? revocationRows(revocation) : []),
    ...(callout ? calloutRows(callout) : []),
    ...(renewal ?? []).map(renewalRow),
    ...(flood ?? []).flatMap(floodRows),
    ...(unregister ? unregisterRows(unregister) : []),
    ...(restore ? [restoreRow(restore)] : []),
  ];
}
