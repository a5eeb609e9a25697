import {
  createLogLines,
  directoryHubAccess,
  directoryKeyStore,
  directoryRotationRequest,
  forgetDirectory,
  type HubAccessStore,
  type KeyStore,
  type OnPhase,
  type RotationRequest,
  secretHubAccess,
  secretKeyStore,
  secretRotationRequest,
  showConditions,
  type Uninstall,
  uninstallFromMember,
} from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { isSafeId } from '@rollcall/shared/events/safe-id';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { inClusterAccess } from '@rollcall/shared/kubernetes/in-cluster';
import { resources } from '@rollcall/shared/kubernetes/resources';

/** Where an agent has what is its own: its keys, what it was installed with, and what it is given. */
export interface AgentHome {
  readonly store: KeyStore;
  readonly hubAccess: HubAccessStore;
  readonly rotationRequest: RotationRequest;
  readonly uninstall: Uninstall;
  /** Where people see how the agent stands; undefined where nobody looks but at its lines. */
  readonly showConditions: OnPhase | undefined;
  /** The Secret that says which hub; undefined where flags say everything. */
  readonly bootstrap:
    | { readonly client: KubeClient; readonly namespace: string; readonly name: string }
    | undefined;
  close(): void;
}

function directoryHome(directory: string, bootstrap: AgentHome['bootstrap']): AgentHome {
  return {
    store: directoryKeyStore(directory),
    hubAccess: directoryHubAccess(directory),
    rotationRequest: directoryRotationRequest(directory),
    uninstall: forgetDirectory(directory),
    showConditions: undefined,
    bootstrap,
    close: () => undefined,
  };
}

function bootstrapOfPod(client: KubeClient): AgentHome['bootstrap'] {
  return { client, namespace: client.access.namespace, name: 'rollcall-bootstrap' };
}

/** In the member, as the manifests put it there. */
function podHome(client: KubeClient): AgentHome {
  const { namespace } = client.access;
  return {
    store: secretKeyStore(client, { namespace }),
    hubAccess: secretHubAccess(client, { namespace }),
    rotationRequest: secretRotationRequest(client, { namespace }),
    uninstall: uninstallFromMember(client),
    showConditions: showConditions(client, {
      namespace,
      logger: createLogLines('warn', (line) => process.stderr.write(line), { service: 'agent' }),
    }),
    bootstrap: bootstrapOfPod(client),
    close: () => undefined,
  };
}

/** What a hosted agent was given and keeps goes; there may be others beside it, and the member never had anything of it. */
function forgetHosted(
  client: KubeClient,
  names: { before: readonly string[]; after: readonly string[] },
): Uninstall {
  const { namespace } = client.access;
  const remove = (name: string) => client.delete(resources.secrets, name, { namespace });
  return {
    what: `Secrets ${[...names.before, ...names.after].join(', ')} in namespace ${namespace}`,
    async beforeGoodbye() {
      for (const name of names.before) await remove(name);
    },
    async afterGoodbye() {
      for (const name of names.after) await remove(name);
    },
  };
}

/**
 * In another cluster than the member, in the namespace of the client: under names of its own, so that many can live there.
 * @throws RollcallError USAGE
 */
export function hostedHome(client: KubeClient, name: string): AgentHome {
  if (!isSafeId(name)) throw new RollcallError('USAGE', `--hosted "${name.slice(0, 80)}" is no valid name`);
  const { namespace } = client.access;
  const keys = `rollcall-agent-${name}`;
  const bootstrap = `rollcall-bootstrap-${name}`;
  const hubKubeconfig = `rollcall-hub-kubeconfig-${name}`;
  return {
    store: secretKeyStore(client, { namespace, name: keys }),
    hubAccess: secretHubAccess(client, { namespace, name: hubKubeconfig }),
    rotationRequest: secretRotationRequest(client, { namespace, name: bootstrap }),
    uninstall: forgetHosted(client, { before: [hubKubeconfig], after: [bootstrap, keys] }),
    showConditions: undefined,
    bootstrap: { client, namespace, name: bootstrap },
    close: () => client.close(),
  };
}

/** @throws RollcallError USAGE */
function hostedPodHome(name: string): AgentHome {
  const access = inClusterAccess();
  if (access) {
    const who = { fieldManager: 'rollcall-agent', userAgent: 'rollcall-agent' };
    return hostedHome(createKubeClient(access, who), name);
  }
  throw new RollcallError(
    'USAGE',
    '--hosted is for a pod, whose Secrets it keeps its keys in; elsewhere give --state-dir',
  );
}

/**
 * @param member - where the agent runs in its member, the client for it
 * @throws RollcallError USAGE outside of a pod without `--state-dir`: the keys must be somewhere
 */
export function openHome(
  member: KubeClient,
  { stateDir, hosted }: { stateDir?: string | undefined; hosted?: string | undefined },
): AgentHome {
  const isPod = member.access.contextName === 'in-cluster';
  if (hosted !== undefined && (stateDir !== undefined || isPod)) {
    throw new RollcallError(
      'USAGE',
      isPod
        ? 'give --member-kubeconfig with --hosted: without it the member is the cluster that the pod runs in'
        : 'give either --hosted or --state-dir: one of them has the keys',
    );
  }
  if (hosted !== undefined) return hostedPodHome(hosted);
  if (stateDir !== undefined) return directoryHome(stateDir, isPod ? bootstrapOfPod(member) : undefined);
  if (isPod) return podHome(member);
  throw new RollcallError(
    'USAGE',
    'give --state-dir: outside of a pod there is no Secret for the keys of the agent',
  );
}
