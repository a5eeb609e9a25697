import { RollcallError } from '@rollcall/shared/errors';
import { isReservedClusterName, isSafeId } from '@rollcall/shared/events';
import { type HubInfo, readHubInfo } from '@rollcall/shared/hub';
import { createKubeClient, type KubeClient } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { timeoutFlagMs } from '../duration-flag.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { parseLabels } from '../labels-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { checkMember } from '../register/check-member.ts';
import { reportChecks } from '../register/check.ts';
import { howToGoOn } from './how-to-resume.ts';
import {
  type Begun,
  checkHubTakes,
  forgetMember,
  type Joining,
  kubeconfigSecretOf,
  makeHubObjects,
  renewKubeconfig,
} from './hub-objects.ts';
import { accountObjects, makeMemberAccount, type Mode, removeInstaller } from './member-account.ts';
import { isOnlyLate, untilJoined } from './until-joined.ts';

export interface JoinFlags extends HubFlags, MemberFlags {
  readonly mode: Mode;
  readonly labels?: string;
  readonly clusterSet?: string;
  readonly clusterType?: 'Standard' | 'Edge';
  readonly timeout: string;
  readonly dryRun?: boolean;
}

/** @throws RollcallError CLUSTER_NAME_INVALID, CLUSTER_NAME_RESERVED */
function checkName(name: string): void {
  if (!isSafeId(name)) {
    throw new RollcallError('CLUSTER_NAME_INVALID', `"${name.slice(0, 80)}" is no valid cluster name`);
  }
  if (isReservedClusterName(name))
    throw new RollcallError('CLUSTER_NAME_RESERVED', `the name "${name}" is reserved on the hub`);
}

function sayPlan({ name, mode }: Joining): void {
  const made = accountObjects(mode).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  say(`in the member: ${[...new Set(made)].join(', ')}`);
  say(
    `on the hub: ManagedCluster ${name} (${mode}), Secret ${namespaces.kubeconfigs}/${kubeconfigSecretOf(name)}, a token for it`,
  );
  say(
    mode === 'Push'
      ? 'no agent in the member: the hub probes it by that account, with a token that it renews itself'
      : 'the hub installs the agent by that account, which goes again afterwards',
  );
}

async function beginJoin(
  { hub: client, member }: { hub: KubeClient; member: KubeClient },
  joining: Joining,
  { hub, begun }: { hub: HubInfo; begun: Begun },
): Promise<void> {
  const { name, mode } = joining;
  const kubeconfig = await withProgress('making an account in the member', makeMemberAccount(member, mode));
  say('[member] the account of the hub is there');
  const telling =
    begun === 'nothing'
      ? makeHubObjects(client, joining, { hub, kubeconfig })
      : renewKubeconfig(client, name, kubeconfig);
  await withProgress('telling the hub', telling);
}

async function joinBoth(
  { hub: client, member }: { hub: KubeClient; member: KubeClient },
  joining: Joining,
  { hub, begun, timeoutMs, goOn }: { hub: HubInfo; begun: Begun; timeoutMs: number; goOn: string },
): Promise<void> {
  const { name, mode } = joining;
  let isLate = false;
  try {
    if (begun !== 'taking the account away')
      await beginJoin({ hub: client, member }, joining, { hub, begun });
    await untilJoined(client, name, { timeoutMs, goOn });
  } catch (error) {
    isLate = isOnlyLate(error);
    throw error;
  } finally {
    if (mode === 'Pull' && !isLate) {
      await removeInstaller(member);
      await forgetMember(client, name);
      say('[member] the account that installed the agent is gone, and its kubeconfig from the hub');
    }
  }
}

/**
 * Has the hub reach a member by itself: with an account that is made there, never with the person's own credentials. When time is
 * up, what was made stays, and the same command waits on.
 * @throws RollcallError the first check that fails, CLUSTER_NAME_INVALID, CLUSTER_NAME_RESERVED, NAME_TAKEN, HUB_MISSING,
 * MEMBER_KUBECONFIG_REFUSED and DEADLINE_EXCEEDED with the hub's words; KubeApiError
 */
export async function join(name: string, flags: JoinFlags): Promise<void> {
  checkName(name);
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const own = parseLabels(flags.labels ?? '');
  const client = openHub(flags);
  let member: KubeClient | undefined;
  try {
    const access = await memberAccess(flags);
    const userAgent = `rollcall/${rollcallVersion}`;
    member = createKubeClient(access, { fieldManager: 'rollcall-cli', userAgent });
    sayHub(client);
    say(`member: ${access.server} (context "${access.contextName}", user "${access.userName}")`);
    const { outcomes, clusterId = '' } = await withProgress(
      'looking at the member',
      checkMember(member, undefined),
    );
    reportChecks(outcomes);
    const joining: Joining = {
      name,
      clusterId,
      mode: flags.mode,
      labels: own,
      clusterSet: flags.clusterSet,
      clusterType: flags.clusterType ?? 'Standard',
    };
    const hub = await readHubInfo(client);
    const begun = await withProgress('asking the hub', checkHubTakes(client, joining, hub.hubId));
    if (begun === 'nothing') sayPlan(joining);
    else say(`"${name}" is being joined already: this waits on`);
    if (flags.dryRun) {
      const { tryJoin } = await import('./try-join.ts');
      const unknown = begun === 'nothing' ? await tryJoin(client, joining, flags) : [];
      const asked = 'nothing that can be seen from here is in the way (dry run; nothing was changed)';
      printResult(
        unknown.length === 0
          ? 'the cluster can be joined (dry run; nothing was changed)'
          : `${asked}; only the hub knows ${unknown.join(', ')}`,
      );
      return;
    }
    await joinBoth({ hub: client, member }, joining, {
      hub,
      begun,
      timeoutMs,
      goOn: howToGoOn(name, flags),
    });
    printResult(`cluster "${name}" is Ready`);
  } finally {
    member?.close();
    client.close();
  }
}
