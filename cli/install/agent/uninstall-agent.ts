import {
  createResourceFinder,
  type KubeClient,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { memberAccess, type MemberFlags } from '../../member-access.ts';
import { printResult, say } from '../../terminal/output.ts';
import { agentValuesSchema } from './agent-values.ts';
import { objectsIn, renderFolder } from '../deploy-templates.ts';
import { installClient } from '../install-client.ts';
import { findInstalled, refuseHelm } from '../find-installed.ts';

export interface UninstallAgentFlags extends MemberFlags {
  readonly withKeys?: boolean;
  readonly dryRun?: boolean;
}

const namespace = 'rollcall-agent';
const name = 'rollcall-agent';
const keys: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } };

const isPlace = ({ kind }: KubeObject) => kind === 'Namespace';
const first = ({ kind }: KubeObject) => (kind === 'Deployment' ? 0 : 1);

/** A bootstrap Secret that a person made is theirs (value existingSecret). */
async function isOurs(client: KubeClient, object: KubeObject): Promise<boolean> {
  if (object.kind !== 'Secret' || object === keys) return true;
  const where = { name: object.metadata.name ?? '', namespace };
  const found = await client.get(resources.secrets, where);
  return found === undefined || found.metadata.labels?.['app.kubernetes.io/name'] === name;
}

/**
 * Removes the agent from a member, the Deployment first, so that nobody makes again what goes. Its keys stay with the namespace
 * that they lie in, unless told otherwise: installed again, the agent is the same one to the hub.
 * @throws RollcallError INSTALLED_BY_HELM, NAMESPACE_TERMINATING; what the API server refuses
 */
export async function uninstallAgent(flags: UninstallAgentFlags): Promise<void> {
  const access = await memberAccess(flags);
  say(`member: ${access.server} (context "${access.contextName}", user "${access.userName}")`);
  const client = installClient(access);
  const dryRun = flags.dryRun === true;
  try {
    refuseHelm(await findInstalled(client, { name, namespace }), namespace);
    const all = objectsIn(
      renderFolder('agent', agentValuesSchema.parse({ memberAccess: { users: { anybody: true } } })),
    );
    const goes = all.filter((object) => !isPlace(object)).toSorted((a, b) => first(a) - first(b));
    const last = flags.withKeys ? [keys, ...all.filter(isPlace)] : [];
    const resourceOf = createResourceFinder(client, undefined);
    let removed = 0;
    for (const object of [...goes, ...last]) {
      if (!(await isOurs(client, object))) continue;
      const resource = await resourceOf(object);
      const where = resource.namespaced ? { namespace } : {};
      const wasThere = await client.delete(resource, object.metadata.name ?? '', { ...where, dryRun });
      if (!wasThere) continue;
      removed++;
      say(`[uninstall] ${object.kind} ${object.metadata.name} ${dryRun ? 'would be deleted' : 'deleted'}`);
    }
    const nothing = 'there is no agent to remove';
    const done = dryRun ? 'the agent can be removed (dry run)' : 'the agent is removed';
    printResult(removed === 0 ? nothing : done);
    if (!flags.withKeys) {
      say(
        `stays: namespace ${namespace} with Secret ${name}, the keys of this cluster (--with-keys removes both)`,
      );
    }
    say('stays on the hub: the cluster, as stopped; `rollcall unregister NAME` there has it leave');
  } finally {
    client.close();
  }
}
