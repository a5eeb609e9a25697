import {
  clusterRecord,
  type ClusterRecord,
  type Decision,
  foldRecord,
  livenessOf,
  nameRecord,
  type StoredEvent,
} from '@rollcall/shared/events';
import { createFleetView } from '../../services/approver/fleet/fleet-view.ts';
import { gatherJudgement } from '../../services/approver/requests/gather-judgement.ts';
import { decideRequest } from '../../services/approver/requests/decide-request.ts';
import { openRequest } from '../../services/registrar/replies/key-status.ts';
import type { Agents } from './agents.ts';
import type { Kept } from './kube-server.ts';
import type { People } from './people.ts';
import { evaluateNow } from './policy-evaluator.ts';
import { heartbeat, longestLifeMs } from './services.ts';
import { openDeclarations } from './settled-declarations.ts';
import { openLabels, openProjection } from './settled-projection.ts';
import { inTurn } from './simulated-log.ts';
import type { World } from './world.ts';

const clusterIdLabel = 'rollcall.dev/cluster-id';
const isOf = (id: string, { metadata }: Kept) => metadata.labels?.[clusterIdLabel] === id;

function recordOf(world: World, id: string): ClusterRecord {
  const aggregate = { kind: 'cluster', id } as const;
  return clusterRecord(foldRecord(aggregate, world.stream.ofAggregate(aggregate)));
}

/** Whether it left last, and not was let in; and by its decision the namespace was to go with it. */
function hasLeftForGood(world: World, id: string): boolean {
  const events = world.stream.from(1, `cluster.${id}.*`);
  const isLetIn = ({ definition, section }: StoredEvent) =>
    definition.writer === 'approver' && (section as Decision).approvedKey !== undefined;
  const last = events.findLast((event) => event.type === 'left' || isLetIn(event));
  const leave = events.findLast(({ type }) => type === 'leaving');
  return last?.type === 'left' && (leave?.section as Decision | undefined)?.namespacePolicy === 'Delete';
}

function* openAccess(world: World, id: string, record: ClusterRecord): Generator<string> {
  const { decision, access, identity } = record;
  const spaces = world.kube
    .list('namespaces')
    .filter((object) => isOf(id, object) && !object.metadata.deletionTimestamp);
  const placesOf = (plural: string) =>
    world.kube
      .list(plural)
      .filter((object) => isOf(id, object))
      .map(({ metadata }) => metadata.namespace)
      .join(', ');
  const bound = placesOf('rolebindings');
  const accounts = placesOf('serviceaccounts');
  if (spaces.length > 1) yield `I4 ${id} has ${spaces.length} namespaces`;
  if (decision?.approvedKey === undefined) {
    if (bound !== '') yield `I4 ${id} is not let in and has rights in ${bound}`;
    if (accounts !== '') yield `I4 ${id} is not let in and has an account in ${accounts}`;
    if (spaces.length > 0 && hasLeftForGood(world, id))
      yield `I4 ${id} has left, and the namespace ${spaces[0]?.metadata.name} is there`;
    if (
      decision?.verdict === 'leaving' &&
      identity?.state !== 'left' &&
      identity?.state !== 'refused' &&
      decision.requestId === identity?.request.id
    )
      yield `${id} leaves and has not left`;
    return;
  }
  if (identity?.leave?.signedAtMs !== undefined && identity.leave.key === decision.approvedKey)
    yield `the agent of ${id} asked to leave, and the verdict is ${decision.verdict}`;
  if (identity?.admittedKey !== decision.approvedKey) yield `I8 ${id} is approved and not admitted`;
  if (access?.state === 'failed') return;
  if (access?.state !== 'provisioned')
    yield `I8 ${id} is approved; its access is ${access?.state ?? 'not told'}`;
  if (!spaces.some(({ metadata }) => metadata.name === decision.namespace))
    yield `I4 ${id} is let in and has no namespace ${decision.namespace}`;
  const wanted = decision.access === 'Namespace' ? decision.namespace : '';
  if (bound !== wanted) yield `I4 ${id} has rights in "${bound}", not in "${wanted}"`;
  if (accounts !== wanted) yield `I4 ${id} has accounts in "${accounts}", not in "${wanted}"`;
}

function* openLiveness(agents: Agents, id: string, record: ClusterRecord): Generator<string> {
  const key = record.decision?.approvedKey;
  const { identity } = record;
  if (key === undefined || identity?.admittedKey !== key) return;
  const sendsHeartbeats = agents
    .running()
    .some((agent) => agent.key.publicKey === key && agent.plan.clusterId === id);
  const liveness = livenessOf(record);
  if (sendsHeartbeats && liveness?.state !== 'ready')
    yield `I8 ${id} sends heartbeats and is ${liveness?.state ?? 'never seen'}`;
  if (!sendsHeartbeats && (liveness?.state === 'ready' || liveness?.state === 'suspect'))
    yield `${id} is silent and ${liveness.state}`;
}

/** The request that waits is judged by what its agent says now. */
function* openClaims(agents: Agents, id: string, record: ClusterRecord): Generator<string> {
  const request = openRequest(record);
  if (!request || request.rotation !== undefined) return;
  const asks = agents
    .running()
    .find(({ key, plan }) => key.publicKey === request.key && plan.clusterId === id);
  const { region } = asks?.facts ?? {};
  if (asks && region !== request.claimed.region)
    yield `${asks.name} is in region ${region}, and its request says ${request.claimed.region}`;
}

async function* openDecision(world: World, id: string, record: ClusterRecord): AsyncGenerator<string> {
  const { identity, decision } = record;
  if (!identity || identity.state === 'left' || identity.state === 'refused') return;
  if (decision?.requestId !== identity.request.id) return yield `the request of ${id} is not decided`;
  if (decision.verdict !== 'held' || decision.reason === 'PolicyTimeout') return;
  const log = {
    read: async (aggregate: Parameters<typeof world.stream.ofAggregate>[0]) =>
      foldRecord(aggregate, world.stream.ofAggregate(aggregate)),
    readAll: async (filter: string) => world.stream.newestUnder(filter),
    scan: ({ filter = '>', fromSequence = 1 }) => inTurn(async () => world.stream.from(fromSequence, filter)),
  };
  const evaluator = {
    evaluate: async (question: Parameters<typeof evaluateNow>[0]) => evaluateNow(question),
    close: async () => undefined,
  };
  const nowMs = () => world.scheduler.nowMs;
  const now = decideRequest(
    await gatherJudgement(
      { log, evaluator, fleet: createFleetView(log), deadlineMs: 1, heartbeat, nowMs },
      id,
    ),
  );
  if (now.some(({ definition }) => definition.type !== 'held'))
    yield `${id} is held for ${decision.reason}; by the policies in force it is ${now[0]?.definition.type}`;
}

function* openTrust(world: World, agents: Agents, id: string, record: ClusterRecord): Generator<string> {
  const { revokedKeys = [], approvedKey } = record.decision ?? {};
  const { revocations } = world.account;
  for (const { key, atMs } of revokedKeys) {
    if (atMs + longestLifeMs < world.scheduler.nowMs) continue;
    if (revocations[key] === undefined) yield `${key.slice(0, 6)} of ${id} is taken back and not on the list`;
  }
  const { retiringKey } = record.decision ?? {};
  const isInUse = agents
    .running()
    .some(({ key, plan }) => key.publicKey === approvedKey && plan.clusterId === id);
  if (retiringKey !== undefined && isInUse)
    yield `the agent of ${id} has its new key, and the former one is not out`;
  if (approvedKey !== undefined && revocations[approvedKey] !== undefined)
    yield `the approved key of ${id} is on the list`;
  for (const agent of agents.running()) {
    if (agent.plan.clusterId !== id) continue;
    const isIn = agent.key.publicKey === approvedKey;
    if (agent.isMember !== isIn)
      yield `${agent.name} ${isIn ? 'is let in and no member' : 'is a member and not let in'}`;
  }
}

function* openNames(world: World): Generator<string> {
  for (const name of world.stream.idsOf('name')) {
    const aggregate = { kind: 'name', id: name } as const;
    const { holder } = nameRecord(foldRecord(aggregate, world.stream.ofAggregate(aggregate)));
    if (holder === undefined) continue;
    const { identity, decision } = recordOf(world, holder);
    const isUsed = identity?.state === 'requested' || identity?.state === 'admitted';
    if (decision?.verdict === 'predefined' && decision.clusterName === name) continue;
    if (!isUsed || identity.clusterName !== name)
      yield `the name ${name} is kept for ${holder}, which is ${identity?.state} as ${identity?.clusterName}`;
  }
}

/** What is still open once nothing goes wrong any more; nothing, when the world is as it should be. */
export async function whatIsNotSettled(world: World, agents: Agents, people: People): Promise<string[]> {
  const open: string[] = world.openDeliveries;
  for (const id of world.stream.idsOf('cluster')) {
    const record = recordOf(world, id);
    for await (const what of openDecision(world, id, record)) open.push(what);
    open.push(
      ...openClaims(agents, id, record),
      ...openAccess(world, id, record),
      ...openLiveness(agents, id, record),
      ...openTrust(world, agents, id, record),
      ...openProjection(world, people, id, record),
      ...openLabels(world, people, id, record),
    );
  }
  open.push(...openNames(world), ...openDeclarations(world));
  return open;
}
