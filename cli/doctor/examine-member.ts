import { directoryKeyStore, type HubNetwork } from '@rollcall/agent';
import { createKubeClient } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { decodeJwt, keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { checkMember } from '../register/check-member.ts';
import { examineAgent } from './examine-agent.ts';
import { examineAddress } from './examine-address.ts';
import { examineClock } from './examine-clock.ts';
import { examine, finding, type Finding, findingOf, ok } from './finding.ts';

/** The member's API server as its agent would use it: reached, new enough, readable, with the clock of this machine. */
export function examineMember(flags: MemberFlags): Promise<readonly Finding[]> {
  return examine('member', async () => {
    const client = createKubeClient(await memberAccess(flags), {
      fieldManager: 'rollcall-cli',
      userAgent: `rollcall/${rollcallVersion}`,
    });
    try {
      const { outcomes } = await checkMember(client, undefined);
      const findings = outcomes.map((outcome) =>
        'found' in outcome ? ok(outcome.name, outcome.found) : findingOf(outcome.name, outcome.error),
      );
      const isReached = findings.some(({ outcome }) => outcome === 'ok');
      if (!isReached) return findings;
      return [...findings, await examineClock(client, 'member API server'), ...(await examineAgent(client))];
    } finally {
      client.close();
    }
  });
}

function lifeOf(jwt: string, nowMs: number): Finding {
  const { exp } = decodeJwt(jwt) as { exp?: number };
  if (exp === undefined) return ok('agent-credentials', 'have no end');
  const end = new Date(exp * 1000).toISOString();
  return exp * 1000 > nowMs
    ? ok('agent-credentials', `good until ${end}; the agent renews them`)
    : finding(
        'agent-credentials',
        `ended at ${end}`,
        'Start the agent: its key lets it come back and renew them.',
      );
}

/** The keys and credentials that an agent keeps in a directory, and whether its hub answers from here. */
export async function examineAgentState(
  directory: string,
  hub: readonly string[],
  network: HubNetwork,
): Promise<readonly Finding[]> {
  let caPem: string | undefined;
  const state = await examine('agent-state', async () => {
    const kept = await directoryKeyStore(directory).load();
    if (!kept)
      return finding(
        'agent-state',
        `"${directory}" has no state of an agent`,
        'Give the --state-dir that `register --run` or `agent run` was started with.',
      );
    caPem = kept.hubCaPem;
    const key = keyFingerprint(nkeyFromSeed(kept.seed).publicKey);
    const { member } = kept;
    const who = `cluster ${kept.clusterId} of hub ${kept.hubId}, key ${key}`;
    return member
      ? [ok('agent-state', `"${member.clusterName}": ${who}`), lifeOf(member.jwt, Date.now())]
      : finding(
          'agent-state',
          `${who}: not let in yet`,
          'On the hub: `rollcall get requests`, then `rollcall policy explain ID`.',
        );
  });
  const ca = caPem;
  const addresses =
    ca === undefined ? [] : await Promise.all(hub.map((address) => examineAddress(address, ca, network)));
  return [...state, ...addresses.flat()];
}
