import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AgentState,
  directoryKeyStore,
  directoryRotationRequest,
  type KeyStore,
  type RotationRequest,
  secretKeyStore,
  secretRotationRequest,
} from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { timeoutFlagMs } from '../duration-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { agentNamespace } from '../unregister/member-of-cluster.ts';
import { type HostedAgentFlags, openHostedAgent } from './find-hosted-agent.ts';

export interface AgentRotateFlags extends MemberFlags, HostedAgentFlags {
  readonly timeout: string;
  readonly dryRun?: boolean;
}

interface Installed {
  readonly store: KeyStore;
  readonly rotationRequest: RotationRequest;
  /** For people. */
  readonly place: string;
  close(): void;
}

const lookAgainMs = 250;

/**
 * Where the keys of the agent are, and a request for a new key is read.
 * @throws RollcallError USAGE; KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
async function findInstalled(flags: AgentRotateFlags): Promise<Installed> {
  const hosted = openHostedAgent(flags);
  if (hosted) {
    const { store, rotationRequest, place, close } = hosted;
    return { store, rotationRequest, place, close };
  }
  const { stateDir } = flags;
  if (stateDir !== undefined) {
    const store = directoryKeyStore(stateDir);
    const rotationRequest = directoryRotationRequest(stateDir);
    return { store, rotationRequest, place: `keys: ${store.place}`, close: () => undefined };
  }
  const member = await memberAccess(flags);
  const options = { fieldManager: 'rollcall-cli', userAgent: `rollcall/${rollcallVersion}` };
  const client = createKubeClient(member, options);
  const namespace = agentNamespace;
  return {
    store: secretKeyStore(client, { namespace }),
    rotationRequest: secretRotationRequest(client, { namespace }),
    place: `member: ${member.server} (context "${member.contextName}", user "${member.userName}")`,
    close: () => client.close(),
  };
}

async function stateOf({ store }: Installed): Promise<AgentState> {
  const state = await store.load();
  if (!state) throw new RollcallError('NOT_FOUND', `there is no agent: ${store.place} has no keys`);
  return state;
}

const fingerprintOf = ({ seed }: AgentState) => keyFingerprint(nkeyFromSeed(seed).publicKey);

/** The agent keeps its new key once the hub has let it in, and names the request that it was for. */
async function untilRotated(installed: Installed, id: string, timeoutMs: number): Promise<AgentState> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const state = await stateOf(installed);
    if (state.rotatedBy === id) return state;
    if (performance.now() > deadlineMs) {
      const stage =
        state.next?.rotationRequest === id ? 'the hub has not let it in yet' : 'the agent has not begun';
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `no new key after ${timeoutMs / 1000} s: ${stage}; the agent goes on, look at what it says`,
      );
    }
    await delay(lookAgainMs);
  }
}

/**
 * Has the agent that runs in the member take a new key in the place of its own, and waits for it.
 * @throws RollcallError NOT_FOUND, DEADLINE_EXCEEDED (the agent goes on by itself)
 */
export async function rotateAgentKey(flags: AgentRotateFlags): Promise<void> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const installed = await findInstalled(flags);
  try {
    const before = await stateOf(installed);
    const name = before.member?.clusterName ?? before.clusterId;
    say(installed.place);
    if (flags.dryRun) {
      say(`the agent of cluster "${name}" would take a new key (dry run; nothing was changed)`);
      return;
    }
    const id = randomUUID();
    await installed.rotationRequest.write(id);
    const after = await untilRotated(installed, id, timeoutMs);
    printResult(
      `the agent of cluster "${name}" has a new key: ${fingerprintOf(before)} → ${fingerprintOf(after)}`,
    );
  } finally {
    installed.close();
  }
}
