import { foldRecord, policyDeclaration, tokenRecord, type TokenRecord } from '@rollcall/shared/events';
import type { ApprovalPolicy, ClusterRegistrationToken } from '@rollcall/shared/resources';
import { desiredPolicy } from '../../services/projector/desired/desired-policy.ts';
import { desiredToken } from '../../services/projector/desired/desired-token.ts';
import type { Kept } from './kube-server.ts';
import { conditionOf, otherStatus } from './settled-projection.ts';
import type { World } from './world.ts';

/** Replicas whose clocks are ahead show the end of a token as early as this. */
const mostSkewMs = 30_000;

/** What must be seen of a token, from the design and not from the code that writes it. */
function reasonOf({ declaration, uses }: TokenRecord, nowMs: number): string | undefined {
  const { expiresAtMs = Infinity, problem, uses: allowed = 1 } = declaration ?? {};
  if (nowMs >= expiresAtMs) return 'Expired';
  if (nowMs >= expiresAtMs - mostSkewMs) return undefined;
  if (problem) return problem.reason;
  return allowed !== 'unlimited' && (uses?.used ?? 0) >= allowed ? 'UsedUp' : 'Usable';
}

function* openToken(world: World, object: Kept, record: TokenRecord): Generator<string> {
  const { nowMs } = world.scheduler;
  const name = `token ${object.metadata.name}`;
  yield* otherStatus(
    name,
    object,
    desiredToken(record, object as unknown as ClusterRegistrationToken, nowMs),
  );
  const [shown, want] = [conditionOf(object, 'Ready')?.reason, reasonOf(record, nowMs)];
  if (want !== undefined && shown !== want) yield `I5 ${name} is ${want} and shows ${shown}`;
  const used = record.uses?.used ?? 0;
  if (object.status?.['used'] !== used)
    yield `I5 ${name} was used ${used} times and shows ${object.status?.['used']}`;
}

function* openTokens(world: World): Generator<string> {
  const objects = new Map(
    world.kube.list('clusterregistrationtokens').map((object) => [object.metadata.uid, object]),
  );
  for (const id of world.stream.idsOf('token')) {
    const aggregate = { kind: 'token', id } as const;
    const record = tokenRecord(foldRecord(aggregate, world.stream.ofAggregate(aggregate)));
    const { declaration } = record;
    if (!declaration || declaration.withdrawn) continue;
    const object = objects.get(declaration.uid);
    if (!object) yield `token ${declaration.name} is gone and not withdrawn`;
    else yield* openToken(world, object, record);
    objects.delete(declaration.uid);
  }
  for (const { metadata } of objects.values()) yield `token ${metadata.name} is not declared`;
}

function* openPolicy(world: World, object: Kept): Generator<string> {
  const { name, generation } = object.metadata;
  const aggregate = { kind: 'policy', id: name } as const;
  const record = foldRecord(aggregate, world.stream.ofAggregate(aggregate));
  const declaration = policyDeclaration(record);
  const { problem } = declaration ?? {};
  if (declaration?.withdrawn || (problem?.generation ?? declaration?.generation) !== generation)
    return yield `policy ${name} is not declared`;
  const wanted = desiredPolicy(record, object as unknown as ApprovalPolicy, world.scheduler.nowMs);
  yield* otherStatus(`policy ${name}`, object, wanted);
  const [shown, want] = [conditionOf(object, 'Ready')?.reason, problem ? 'CompileFailed' : 'InForce'];
  if (shown !== want) yield `I5 policy ${name} is ${want} and shows ${shown}`;
}

/** What people have declared is in the stream, and what became of it is shown. */
export function* openDeclarations(world: World): Generator<string> {
  yield* openTokens(world);
  for (const object of world.kube.list('approvalpolicies')) yield* openPolicy(world, object);
}
