import type { Admission } from '../types/approver-events.ts';
import type { AggregateRecord } from './fold-record.ts';

/** Whether the admission policies around people hold. One aggregate for the whole hub, so that all replicas know it. */
export const admissionAggregate = { kind: 'hub', id: 'admission' } as const;

/**
 * What was last said of the admission policies; undefined on a hub that has never seen them hold. The cast is sound: decodeEvent
 * has parsed the section.
 */
export function admissionOf({ lastOf }: Pick<AggregateRecord, 'lastOf'>): Admission | undefined {
  return lastOf.approver?.section as Admission | undefined;
}

const ofNobody =
  'was written while the admission policies may not have held, so nobody knows by whom, and does not count; who may and wants it';

/** Why an object that was written while the admission policies may not have held is not in force, and how it gets there. */
export interface AuthorUnknown {
  readonly reason: 'AuthorUnknown';
  readonly message: string;
}

/**
 * Whether this version of a token, policy or set does not count, because nobody knows who wrote it.
 * @param object.plural - of its kind
 * @param object.key - `namespace/name`, or `name`
 */
export function authorUnknown(
  record: Pick<AggregateRecord, 'lastOf'>,
  { plural, key, uid, generation }: { plural: string; key: string; uid: string; generation: number },
): AuthorUnknown | undefined {
  const object = `${plural}/${key}`;
  const word = versionWord({ uid, generation });
  const isListed = admissionOf(record)?.unproven.some((each) => each.object === object && each.word === word);
  if (!isListed) return undefined;
  const [name = '', namespace] = key.split('/').toReversed();
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const again = `kubectl get ${plural}.rollcall.dev ${name}${where} -o yaml | kubectl replace --force -f -`;
  const takesAway =
    plural === 'approvalpolicies'
      ? ' (one that takes a rule away is written as it is in force first: `rollcall events --type declared -o json` has the rules)'
      : '';
  const message = `it ${ofNobody} writes it again: ${again}${takesAway}`;
  return { reason: 'AuthorUnknown', message };
}

/** How people call what a word in a ManagedCluster is about. The names that stand there are not words of their own. */
const clusterFields: Readonly<Record<string, string>> = {
  operation: 'spec.operation',
  access: 'spec.access',
  'cluster-set': 'label rollcall.dev/cluster-set',
  accepts: 'spec.hubAcceptsClient',
  kubeconfig: 'spec.kubeconfigSecret',
};

/**
 * What stands in a request or a cluster and does not count, because nobody knows who wrote it.
 * @param object.plural - of its kind
 */
export function wordsOfUnknownAuthor(
  record: Pick<AggregateRecord, 'lastOf'>,
  { plural, name }: { plural: string; name: string },
): AuthorUnknown | undefined {
  const ofObject = (admissionOf(record)?.unproven ?? []).filter(
    ({ object }) => object === `${plural}/${name}`,
  );
  const words = new Set(ofObject.map(({ word }) => word.slice(0, word.indexOf(':'))));
  const reason = 'AuthorUnknown';
  if (words.has('decision')) {
    const again = `rollcall approve ${name} --reason TEXT, or deny`;
    return { reason, message: `spec.decision ${ofNobody} decides again, for another reason: ${again}` };
  }
  const fields = Object.entries(clusterFields).flatMap(([word, field]) => (words.has(word) ? [field] : []));
  if (fields.length === 0) return undefined;
  const again = words.has('operation')
    ? 'says it again (rollcall revoke, ban, unban, approve or rotate-key), and writes settings '
    : 'writes it ';
  const how = `first as it is in force and then again: kubectl edit managedclusters.rollcall.dev ${name}`;
  return { reason, message: `${fields.join(', ')} ${ofNobody} ${again}${how}` };
}

/** This version of an object, among what does not count. */
export function versionWord({ uid, generation }: { uid: string; generation: number }): string {
  return `version:${uid}@${generation}`;
}
