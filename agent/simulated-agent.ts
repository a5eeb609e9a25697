import { rollcallVersion } from '@rollcall/shared/service/version';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { defaultPatience } from './config.ts';
import { parseHubAddress } from './hub/hub-address.ts';
import { digestOfTrust } from './hub/hub-trust.ts';
import type { AgentState, KeyStore } from './keys/key-store.ts';
import { createLogLines } from './log-lines.ts';
import { createMembership } from './session/membership.ts';
import { createKeyRing, newAgentState } from './keys/own-keys.ts';
import { createStateStore } from './keys/state-store.ts';

/** An agent without a process and a member of its own: keys, connections, messages and heartbeats are those of a real one. */
export interface SimulatedAgent {
  readonly cluster: string;
  /** Resolves when the hub has let it in. */
  readonly admitted: Promise<unknown>;
  /** Says goodbye; the cluster stays registered. */
  stop(): Promise<void>;
  /** Goes on with the same keys after `stop`. */
  startAgain(): void;
  /** Its member has one node more, or one less again. */
  changeFacts(): void;
  /** Asks the hub to leave. Resolves when the hub has heard the goodbye. */
  leaveHub(): Promise<void>;
}

/** Many members' keys in one process: there is nothing to keep them for. */
const noStore: KeyStore = { place: 'memory', load: async () => undefined, save: async () => undefined };

/** What a member with so many nodes reports. */
function factsOf(cluster: string, nodes: number) {
  return {
    kubernetesVersion: 'v1.36.3',
    platform: 'linux/amd64',
    apiServerURL: `https://${cluster}.members.invalid:6443`,
    healthz: true,
    livez: true,
    readyz: true,
    nodes: { total: nodes, ready: nodes, schedulable: nodes, sample: `${cluster}-node-1` },
    capacity: { cpu: '12', memory: '48Gi', pods: '330' },
    allocatable: { cpu: '11', memory: '44Gi', pods: '330' },
    provider: 'kind',
    agentVersion: rollcallVersion,
  };
}

const fewestNodes = 3;

const logger = createLogLines('error', (line) => process.stderr.write(line));

interface SimulationOptions {
  cluster: string;
  hub: readonly string[];
  caPem: string;
  labels?: Readonly<Record<string, string>>;
  /** Given the phase and the error code. */
  onTrouble: (what: string) => void;
  /** Told of each connection on which the hub let it in. */
  onConnected?: () => void;
  onHeartbeat?: () => void;
}

/** What an agent comes with: a token, or what it had as a member before. */
function startOf(options: { cluster: string } & ({ token: string } | { known: AgentState })) {
  if ('known' in options) return { token: undefined, state: options.known };
  const token = parseRegistrationToken(options.token);
  return { token, state: newAgentState({ clusterId: options.cluster, hubId: token.hubId }) };
}

/** Runs the agent's own code from its first connection on; only its member is made up. */
export function startSimulatedAgent(
  options: SimulationOptions & ({ token: string } | { known: AgentState }),
): SimulatedAgent {
  const { cluster, caPem, labels = {} } = options;
  const { token, ...start } = startOf(options);
  let { state } = start;
  let nodes = fewestNodes;
  let onFactsChange: (() => void) | undefined;
  const facts = {
    read: async () => factsOf(cluster, nodes),
    latest: () => factsOf(cluster, nodes),
    onChange(listener: () => void) {
      onFactsChange = listener;
    },
  };

  /** One life of the process that a real agent would be. */
  function begin(isLeaveWanted: boolean) {
    const stopping = new AbortController();
    const { signal } = stopping;
    const stateStore = createStateStore(noStore, { state, isKept: false, logger, signal });
    const membership = createMembership({
      addresses: options.hub.map(parseHubAddress),
      hubCa: async () => caPem,
      trustDigest: digestOfTrust({ caPem }),
      keys: createKeyRing(() => stateStore.state, noStore.place),
      token: state.member ? undefined : token,
      stateStore,
      request: {
        clusterId: cluster,
        clientId: cluster,
        clusterName: cluster,
        labels,
        clusterType: 'Standard',
        mode: 'Pull',
      },
      firstFacts: facts.read(),
      facts,
      memberAnswers: async () => true,
      onHeartbeat: options.onHeartbeat,
      memberProof: async () => undefined,
      isLeaveWanted,
      uninstall: undefined,
      patience: defaultPatience,
      onPhase: ({ phase, detail }) => {
        if (detail?.code !== undefined) options.onTrouble(`${phase}: ${detail.code}`);
        else if (phase === 'connect') options.onConnected?.();
      },
      logger,
      signal,
    });
    const running = membership.run();
    return {
      admitted: membership.admitted,
      running,
      state: () => stateStore.state,
      async stop() {
        stopping.abort();
        await membership.leave();
        await running;
        state = stateStore.state;
      },
    };
  }

  let life = begin(false);
  const { admitted } = life;
  return {
    cluster,
    admitted,
    stop: () => life.stop(),
    startAgain() {
      life = begin(false);
    },
    changeFacts() {
      nodes = nodes === fewestNodes ? fewestNodes + 1 : fewestNodes;
      onFactsChange?.();
    },
    async leaveHub() {
      const before = life;
      // Beside the agent that runs, with its keys, as `rollcall agent leave` does it.
      state = before.state();
      life = begin(true);
      await life.running;
      await Promise.all([before.stop(), life.stop()]);
    },
  };
}
