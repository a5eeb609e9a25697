import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { findHubInfo, shellWord } from '@rollcall/shared/hub';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { say } from '../../terminal/output.ts';
import type { HubState } from '../../up/state/hub-state.ts';
import { readState } from '../../up/private-files.ts';
import { restoreInPodsUnderWay } from '../../up/state/half-restored.ts';
import type { HubPlaces } from './hub-places.ts';

export type KeptSecret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** Of which hub a service is by its Secret; undefined for any other Secret. */
export function hubOfIdentity({ data = {} }: KeptSecret): string | undefined {
  const { hubId } = readJson(Buffer.from(data['identity.json'] ?? '', 'base64').toString('utf8'));
  return typeof hubId === 'string' ? hubId : undefined;
}

/** Of which hub the keys are that an uninstallation left, together with the data that only they open. */
async function hubOfKeptKeys(workloads: KubeClient): Promise<string | undefined> {
  const where = { name: 'rollcall-identity-registrar', namespace: 'rollcall-system' };
  const kept = await workloads.get<KeptSecret>(resources.secrets, where);
  return kept && hubOfIdentity(kept);
}

function readJson(text: string): { readonly hubId?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { hubId?: unknown };
  } catch {
    return {};
  }
}

/**
 * Whoever has the keys of a hub is the only one who can install it again: under other keys it would be another one to every agent.
 * @returns the addresses that it is known by; none where there is no hub yet
 * @throws RollcallError HUB_KEYS_OTHER
 */
export async function refuseOtherKeys(
  { hub: client, workloads }: Pick<HubPlaces, 'hub' | 'workloads'>,
  directory: string,
): Promise<readonly string[]> {
  const there = await findHubInfo(client);
  const ofKeys = there?.hubId ?? (await hubOfKeptKeys(workloads));
  const ours = readState<HubState>(join(directory, 'hub.json'));
  if (ofKeys !== undefined && ofKeys !== ours?.hubId) {
    const keys = ours ? `the keys in "${directory}" are of hub ${ours.hubId}` : `"${directory}" has no keys`;
    throw new RollcallError(
      'HUB_KEYS_OTHER',
      `${there ? `hub ${ofKeys} is installed here` : `the data of hub ${ofKeys} is kept here`}, and ${keys}`,
    );
  }
  say(`[preflight] keys: ${ours ? 'those of' : 'new ones, in'} "${directory}"`);
  if (ours && ofKeys === undefined && restoreInPodsUnderWay(directory) === undefined)
    say(
      `[preflight] nothing of hub ${ours.hubId} is in this cluster: it begins with an empty history. If it had one, bring it back instead: \`rollcall restore FILE --keys ${shellWord(directory)} --keep-kubernetes\``,
    );
  return there?.addresses ?? [];
}
