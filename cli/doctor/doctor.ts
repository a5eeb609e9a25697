import { styleText } from 'node:util';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { findHubInfo } from '@rollcall/shared/hub';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { documentText } from '../terminal/document-text.ts';
import { busAccess, type BusFlags, isElsewhere, namesBus } from '../events/bus-access.ts';
import { openBus } from '../events/open-bus.ts';
import { exitCodes } from '../exit-code.ts';
import { openHub } from '../hub-access.ts';
import { openWorkloads, type WorkloadsFlags } from '../install/hub/hub-places.ts';
import { type NetworkFlags, networkOf } from '../agent/network-flags.ts';
import type { MemberFlags } from '../member-access.ts';
import { printResult } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { kubernetesAway, type KubernetesSide, readKubernetesSide } from '../status/read-sides.ts';
import { hasColour } from '../terminal/terminal.ts';
import { examineAddress } from './examine-address.ts';
import { examineBus } from './examine-bus.ts';
import { examineKubernetes } from './examine-kubernetes.ts';
import { examineAgentState, examineMember } from './examine-member.ts';
import { examineState } from './examine-state.ts';
import { counted, examine, type Finding, findingOf, ok, skipped } from './finding.ts';

export interface DoctorFlags extends BusFlags, MemberFlags, NetworkFlags, WorkloadsFlags {
  readonly agentStateDir?: string;
  readonly hub?: readonly string[];
  readonly output: 'text' | 'json' | 'yaml';
}

/** The side of the member, where a flag names it; the hub need not be at hand there. */
function memberSide(flags: DoctorFlags): Promise<readonly Finding[]>[] {
  const { agentStateDir, hub = [] } = flags;
  const namesMember = [
    flags.memberKubeconfig,
    flags.memberContext,
    flags.clusterKubeconfig,
    flags.clusterContext,
  ];
  return [
    ...(namesMember.some((flag) => flag !== undefined) ? [examineMember(flags)] : []),
    ...(agentStateDir === undefined ? [] : [examineAgentState(agentStateDir, hub, networkOf(flags))]),
  ];
}

/** The addresses that we use and those that agents are told: an agent may be told one that does not answer. */
async function examineAddresses(flags: DoctorFlags, client: KubeClient): Promise<readonly Finding[]> {
  const told = findHubInfo(client).catch(() => undefined);
  const access = await busAccess(flags).catch(() => undefined);
  // Why it is not known, the connection says.
  if (access === undefined) return [];
  return examine('addresses', async () => {
    const { address } = access;
    const servers = new Set([...address.servers, ...((await told)?.addresses ?? [])]);
    const looking = [...servers].map((server) => examineAddress(server, address.caPem));
    return (await Promise.all(looking)).flat();
  });
}

async function examineConnection(
  flags: DoctorFlags,
  kubernetes: () => Promise<KubernetesSide>,
): Promise<readonly Finding[]> {
  return examine('nats', async () => {
    const bus = await openBus(flags);
    try {
      const connected = ok('nats', `connected to ${bus.nc.getServer()}`);
      return [connected, ...(await examineBus(bus, await kubernetes()))];
    } finally {
      await bus.nc.close();
    }
  });
}

export async function examineHub(flags: DoctorFlags): Promise<readonly Finding[]> {
  const state = isElsewhere(flags)
    ? [skipped('state', `flags or the environment name a hub that is not the one of "${stateDirectory()}"`)]
    : await examineState();
  let client: KubeClient;
  let workloads: KubeClient | undefined;
  try {
    workloads = openWorkloads(flags);
    client = openHub(flags);
  } catch (thrown) {
    // Who has a context of the bus alone can still look at the bus.
    const ofBus = namesBus(flags) ? await examineConnection(flags, async () => kubernetesAway(thrown)) : [];
    workloads?.close();
    return [...state, findingOf('kubeconfig', toRollcallError(thrown)), ...ofBus];
  }
  try {
    const rest = await Promise.all([
      examineKubernetes(client, workloads),
      examineAddresses(flags, client),
      examineConnection(flags, () => readKubernetesSide(client)),
    ]);
    return [...state, ...rest.flat()];
  } finally {
    client.close();
    workloads?.close();
  }
}

const colours = { ok: 'green', skipped: 'dim', finding: 'red' } as const;

function lineOf(one: Finding, isColoured: boolean): string {
  const word = one.outcome.padEnd(7);
  const shown = isColoured ? styleText(colours[one.outcome], word, { validateStream: false }) : word;
  const line = `${shown}  ${printable(one.check)}: ${printable(one.message)}`;
  return one.outcome === 'finding' ? `${line}\n         → ${printable(one.next)}` : line;
}

/**
 * `rollcall doctor`: looks at everything that can keep a cluster from joining, and says for each finding what to do. Exit 1
 * where there is one.
 * @throws RollcallError USAGE
 */
export async function doctor(flags: DoctorFlags): Promise<void> {
  if (flags.hub && flags.agentStateDir === undefined) {
    throw new RollcallError(
      'USAGE',
      '--hub goes with --agent-state-dir, which has the CA of that hub; without one, `rollcall register … --dry-run` tries an address',
    );
  }
  const member = memberSide(flags);
  const looking = member.length > 0 ? member : [examineHub(flags)];
  const findings = (await withProgress('looking', Promise.all(looking))).flat();
  const count = findings.filter(({ outcome }) => outcome === 'finding').length;
  if (flags.output !== 'text') printResult(documentText(findings, flags.output));
  else {
    const isColoured = hasColour();
    for (const one of findings) printResult(lineOf(one, isColoured));
    printResult(
      `\n${counted(findings.length, 'check')}, ${count === 0 ? 'nothing found' : counted(count, 'finding')}.`,
    );
  }
  if (count > 0) process.exitCode = exitCodes.failed;
}
