import {
  type DeclarationDifference,
  policyDifferences,
  setDifferences,
  tokenDifferences,
} from '@rollcall/projector/projection';
import type { EventLog } from '@rollcall/shared/bus';
import {
  type AggregateId,
  type AggregateRecord,
  foldRecord,
  policyDeclaration,
  publicationIdOf,
  setDeclaration,
  type TokenRecord,
  tokenRecord,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { tokenIdOf } from '@rollcall/shared/trust';
import type { Projections } from './check-projections.ts';
import { type Finding, finding } from './finding.ts';

/** The records of one kind, each the fold of its events. */
async function readRecords(log: EventLog, kind: AggregateId['kind']): Promise<Map<string, AggregateRecord>> {
  const events = Map.groupBy(await log.readAll(`${kind}.*.*`), ({ id }) => id);
  return new Map([...events].map(([id, ofOne]) => [id, foldRecord({ kind, id }, ofOne)]));
}

/** Of a token that the hub made, what is known of its key, as soon as that is declared. */
function recordOfToken(
  { metadata, spec }: StoredObject<ClusterRegistrationToken>,
  records: ReadonlyMap<string, AggregateRecord>,
): TokenRecord {
  const find = (id: string) => tokenRecord(records.get(id) ?? foldRecord({ kind: 'token', id }, []));
  if (spec.publicKey !== undefined) return find(tokenIdOf(spec.publicKey));
  const asked = find(publicationIdOf(metadata.uid));
  const { publicKey } = asked.publication ?? {};
  const ofKey = publicKey === undefined ? undefined : find(tokenIdOf(publicKey));
  return ofKey?.declaration ? ofKey : asked;
}

function asFinding({ object, what, fields }: DeclarationDifference): Finding {
  return what === 'status'
    ? finding('ProjectionDiffers', object, `its status differs in: ${fields.join(', ')}`)
    : finding('DeclarationDiffers', object, 'no event says what stands there');
}

/** What is in force by the events, and nobody's object any more. */
function withoutObject(
  declared: Iterable<{ uid: string; withdrawn: boolean; object: string } | undefined>,
  uids: ReadonlySet<string>,
): Finding[] {
  return [...declared]
    .filter((one) => one !== undefined && !one.withdrawn && !uids.has(one.uid))
    .map((one) =>
      finding(
        'DeclarationDiffers',
        one?.object ?? '',
        'the events say that it is in force, and there is no such object',
      ),
    );
}

const nothing = (kind: 'policy' | 'set', id: string) => foldRecord({ kind, id }, []);

function named<T extends { uid: string; withdrawn: boolean }>(one: T | undefined, object: string) {
  return one && { uid: one.uid, withdrawn: one.withdrawn, object };
}

/** Compares tokens, policies and sets with what the events say is in force, in both directions. */
export async function declaredFindings(
  { tokens, policies, sets }: Projections,
  { log, nowMs }: { log: EventLog; nowMs: number },
): Promise<Finding[]> {
  const [ofTokens, ofPolicies, ofSets] = (await Promise.all(
    (['token', 'policy', 'set'] as const).map((kind) => readRecords(log, kind)),
  )) as [Map<string, AggregateRecord>, Map<string, AggregateRecord>, Map<string, AggregateRecord>];
  const differences = [
    ...tokens.flatMap((object) => tokenDifferences(recordOfToken(object, ofTokens), object, nowMs)),
    ...policies.flatMap((object) => {
      const { name } = object.metadata;
      return policyDifferences(ofPolicies.get(name) ?? nothing('policy', name), object, nowMs);
    }),
    ...sets.flatMap((object) => {
      const { name } = object.metadata;
      return setDifferences(ofSets.get(name) ?? nothing('set', name), object);
    }),
  ];
  const declared = [
    ...[...ofTokens.values()].map((record) => {
      const { declaration } = tokenRecord(record);
      return named(declaration, `ClusterRegistrationToken/${declaration?.namespace}/${declaration?.name}`);
    }),
    ...[...ofPolicies].map(([id, record]) => named(policyDeclaration(record), `ApprovalPolicy/${id}`)),
    ...[...ofSets].map(([id, record]) => named(setDeclaration(record), `ManagedClusterSet/${id}`)),
  ];
  const uids = new Set([...tokens, ...policies, ...sets].map(({ metadata }) => metadata.uid));
  return [...differences.map(asFinding), ...withoutObject(declared, uids)];
}
