import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  type AgentOptions,
  directoryKeyStore,
  directoryRotationRequest,
  type HubAccessStore,
  type KeyStore,
  type PhaseEvent,
  type RotationRequest,
  runAgent,
  type RunningAgent,
} from '@rollcall/agent';
import { type EventLog, openEventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { admissionAggregate, admissionOf, tokenRecord } from '@rollcall/shared/events';
import { type KubeAccess, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service';
import { createRegistrationToken, type RegistrationToken, tokenIdOf } from '@rollcall/shared/trust';
import { findBinary } from '../../cli/up/binaries.ts';
import { type EmbeddedHub, type EmbeddedHubOptions, startEmbeddedHub } from '../../cli/up/embedded-hub.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { bindRole } from './control-plane.ts';
import { hasPool, leasePlane } from './planes/leased-plane.ts';

/** Ever less often: what takes long comes a twentieth later, and the machine has the time for it. */
const untilNextMs = (waitedMs: number): number => Math.min(Math.max(50, waitedMs / 20), 250);

/**
 * Asks until the answer is there; what may be asked again, such as a bus that was just restarted, is no answer. Tests never assert how long it took.
 * @param patience.withinMs - only a failure ever takes that long
 * @param patience.everyMs - for who measures
 * @throws RollcallError DEADLINE_EXCEEDED with what did not come about
 */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value | undefined | false>,
  { withinMs = 60_000, everyMs }: { withinMs?: number; everyMs?: number } = {},
): Promise<Value> {
  const sinceMs = performance.now();
  const waitedMs = () => performance.now() - sinceMs;
  for (; waitedMs() < withinMs; await delay(everyMs ?? untilNextMs(waitedMs()))) {
    const value = await ask().catch((error: unknown) => {
      if (error instanceof RollcallError && error.retry) return undefined;
      throw error;
    });
    if (value !== undefined && value !== false) return value;
  }
  throw new RollcallError('DEADLINE_EXCEEDED', `gave up waiting: ${what}`);
}

/** A whole hub by `npm start`'s own code path, in a directory of its own. */
export interface TestEmbeddedHub extends AsyncDisposable {
  readonly up: EmbeddedHub;
  readonly log: EventLog;
  createToken(spec?: Record<string, unknown>): Promise<RegistrationToken & { text: string }>;
  /** Runs an agent for a cluster that is told apart by its client id; its member is the hub's own API server. */
  startAgent(options: TestAgentOptions): Promise<TestAgent>;
  cluster(name: string): Promise<ManagedCluster | undefined>;
  request(clusterId: string): Promise<ClusterRegistrationRequest | undefined>;
  untilReady(name: string, status?: string): Promise<ManagedCluster>;
  /** The real kubectl, as that user. */
  kubectl(user: string, ...args: string[]): Promise<{ stdout: string; stderr: string; code: number }>;
}

export interface TestAgentOptions {
  readonly name: string;
  readonly token?: string | undefined;
  readonly clientId?: string;
  readonly member?: KubeAccess;
  /** How it knows the hub; default: the pin of the CA that the hub began with. */
  readonly pins?: readonly string[];
  /** The same directory again is the same agent, restarted. */
  readonly directory?: string;
  /** Where its keys are kept, and where it is asked for new ones; default: its directory. */
  readonly store?: KeyStore;
  readonly rotationRequest?: RotationRequest;
  readonly hubAccess?: HubAccessStore;
  /** Whatever else an agent can be told. */
  readonly more?: Partial<
    Pick<AgentOptions, 'hub' | 'labels' | 'clusterType' | 'patience' | 'facts' | 'memberAccess'>
  >;
}

export interface TestAgent {
  readonly agent: RunningAgent;
  readonly phases: PhaseEvent[];
  readonly directory: string;
}

export function conditionOf(cluster: ManagedCluster | undefined, type: string) {
  return cluster?.status?.conditions?.find((condition) => condition.type === type);
}

/**
 * @param options.ownPlane - whether its API server is started for it. Default: one of the pool, but in a directory that a test may
 * start again, and where writes are recorded
 */
export async function startTestEmbeddedHub({
  ownPlane,
  ...options
}: Partial<EmbeddedHubOptions> & { ownPlane?: boolean } = {}): Promise<TestEmbeddedHub> {
  await using started = new AsyncDisposableStack();
  const base = mkdtempSync(join(tmpdir(), 'rollcall-up-'));
  started.defer(() => rmSync(base, { recursive: true, force: true }));
  const needsOwn = ownPlane ?? (options.stateDir !== undefined || options.auditPolicy !== undefined);
  const stateDir = join(base, 'state');
  const leased =
    needsOwn || !hasPool() ? undefined : started.use(await leasePlane('hub', join(stateDir, 'kubernetes')));
  const lent = leased && { startPlane: async () => leased.plane };
  const up = started.use(await startEmbeddedHub({ stateDir, port: 0, ...lent, ...options }));
  await up.admissionInPlace();
  const nc = started.adopt(await connectAsInspector(up.stateDir, up.natsAddress), (ops) => ops.close());
  const log = await openEventLog(nc, { epoch: up.hub.epoch, source: '/rollcall/test' });
  const agents: RunningAgent[] = [];
  started.defer(async () => void (await Promise.allSettled(agents.map((agent) => agent.stop()))));
  const running = started.move();
  let counter = 0;

  const cluster = (name: string) => up.admin.get<ManagedCluster>(resources.managedClusters, { name });
  return {
    up,
    log,
    cluster,
    request: (name) =>
      up.admin.get<ClusterRegistrationRequest>(resources.clusterRegistrationRequests, { name }),
    async createToken(spec = {}) {
      const token = createRegistrationToken(up.hub.hubId);
      const { publicKey } = token.key;
      const name = `test-${counter++}`;
      await up.admin.create(
        resources.clusterRegistrationTokens,
        {
          apiVersion: 'rollcall.dev/v1alpha1',
          kind: 'ClusterRegistrationToken',
          metadata: { name, namespace: 'rollcall-join' },
          spec: { publicKey, ...spec },
        },
        { namespace: 'rollcall-join' },
      );
      await until(`token ${name} is declared`, async () => {
        const record = await log.read({ kind: 'token', id: tokenIdOf(publicKey) });
        return tokenRecord(record).declaration;
      });
      return token;
    },
    async startAgent({
      name,
      token,
      clientId = name,
      member,
      pins = [up.hub.caCertHash],
      directory = mkdtempSync(join(base, 'agent-')),
      store = directoryKeyStore(directory),
      rotationRequest = directoryRotationRequest(directory),
      hubAccess,
      more = {},
    }) {
      const phases: PhaseEvent[] = [];
      const agent = await runAgent({
        hub: up.addresses,
        trust: { pins },
        token,
        member: member ?? up.plane.access,
        store,
        rotationRequest,
        hubAccess,
        clusterName: name,
        ...(member ? {} : { clientId }),
        version: rollcallVersion,
        onPhase: (phase) => phases.push(phase),
        ...more,
      });
      agents.push(agent);
      return { agent, phases, directory };
    },
    async untilReady(name, status = 'True') {
      let last: ManagedCluster | undefined;
      const isSo = async () => {
        last = await cluster(name);
        return conditionOf(last, 'Ready')?.status === status && last;
      };
      return until(`cluster ${name} has Ready=${status}`, isSo).catch(async (error: unknown) => {
        const unproven = admissionOf(await log.read(admissionAggregate))?.unproven;
        throw new Error(JSON.stringify({ spec: last?.spec, status: last?.status, unproven }, undefined, 1), {
          cause: error,
        });
      });
    },
    async kubectl(user, ...args) {
      const path = join(base, `${user}.kubeconfig`);
      writeFileSync(path, kubeconfigYaml(up.plane.userAccess(user)), { mode: 0o600 });
      const run = promisify(execFile)(findBinary('kubectl'), ['--kubeconfig', path, ...args]);
      return run.then(
        ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
        (error: { stdout: string; stderr: string; code: number }) => error,
      );
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** What a person may do by RBAC, beside or without the admission policies' virtual verbs. */
export async function grant(hub: TestEmbeddedHub, user: string, roles: readonly string[]): Promise<void> {
  for (const role of roles) await bindRole(hub.up.admin, user, role);
}
