import type { FindingRow, PolicyDesk, PolicyRow, TrialRow } from '@rollcall/console';
import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { type ApprovalPolicy, apiVersion, type ManagedClusterSet } from '@rollcall/shared/resources';
import { Lexer, parse } from 'yaml';
import type { BusFlags } from '../events/bus-access.ts';
import { findingsOf, type SetsOfHub } from '../policy/check-policy.ts';
import { type FilePolicy, parsePolicyFile, type PolicyFile } from '../policy/policy-file.ts';
import { ruleText, type Trial, tryFilePolicies, verdictText } from '../policy/try-policy.ts';
import { printableYaml } from '../terminal/printable-yaml.ts';
import { withBusUntil } from './with-bus-until.ts';

type Policy = StoredObject<ApprovalPolicy & { metadata: object }>;

const resource = resources.approvalPolicies;
const dayMs = 24 * 3600 * 1000;
/** What is more than that is for the command line, which lists all. */
const mostChanged = 500;
/** Keys, values and signs of YAML: twice as many as the largest policy has. */
const mostTokens = 10_000;

/** Of what people write, and of this very object: what the hub says of it in the status changes it not. */
const versionOf = ({ uid, generation = 0 }: Policy['metadata']): string => `${uid}.${generation}`;

function policyRow({ metadata, spec, status }: Policy): PolicyRow {
  const { name } = metadata;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const written = { apiVersion, kind: resource.kind, metadata: { name }, spec };
  return {
    name,
    version: versionOf(metadata),
    text: printableYaml(written, { lineWidth: 0 }),
    rules: spec?.rules.length ?? 0,
    isReady: ready?.status === 'True',
    reason: ready?.reason ?? 'not looked at yet',
    message: status?.message ?? '',
  };
}

function trialRow({ since, judged, changed, counts }: Trial): TrialRow {
  return {
    since,
    judged,
    counts,
    differently: changed.length,
    changed: changed
      .slice(0, mostChanged)
      .map(({ clusterId, clusterName, requestId, requestedAt, was, wouldBe }) => ({
        id: clusterId,
        name: clusterName,
        requestId,
        atMs: Date.parse(requestedAt),
        was: verdictText(was),
        wouldBe: verdictText(wouldBe),
        rule: ruleText(wouldBe.by, wouldBe.reason),
      })),
  };
}

/**
 * Who may not read the sets is told nothing about them.
 * @throws KubeApiError
 */
async function setsOf(client: KubeClient): Promise<SetsOfHub> {
  const listing = client.list<ManagedClusterSet>(resources.managedClusterSets);
  const sets = await listing.catch((thrown: unknown) => {
    if (!isForbidden(thrown)) throw thrown;
    return undefined;
  });
  return sets && new Map(sets.map((set) => [set.metadata.name, set]));
}

/**
 * The time of the parser grows with the square of what it reads, and everybody whom the console serves waits for it.
 * @throws RollcallError USAGE
 */
function readPolicies(text: string): PolicyFile {
  let tokens = 0;
  for (const _ of new Lexer().lex(text))
    if (++tokens > mostTokens)
      throw new RollcallError(
        'USAGE',
        'this is more YAML than the console reads at once; `rollcall policy check FILE` has no such bound',
      );
  return parsePolicyFile(text);
}

/** @throws RollcallError POLICY_INVALID, USAGE */
async function goodPolicies(client: KubeClient, text: string): Promise<readonly FilePolicy[]> {
  const file = readPolicies(text);
  const wrong = (await findingsOf(file, await setsOf(client))).find(({ severity }) => severity === 'error');
  if (wrong) throw new RollcallError('POLICY_INVALID', `line ${wrong.line}: ${wrong.message}`);
  if (file.policies.length === 0) throw new RollcallError('POLICY_INVALID', 'there is no ApprovalPolicy');
  return file.policies;
}

/**
 * The one policy of a text, with nothing in it that would be dropped without a word.
 * @throws RollcallError USAGE
 */
function onlyPolicy(policies: readonly FilePolicy[], text: string): FilePolicy {
  const [policy, ...others] = policies;
  const content = others.length === 0 ? (parse(text) as Record<string, object>) : {};
  const { metadata, ...rest } = content;
  const isAlone = Object.keys(rest).toSorted().join(',') === 'apiVersion,kind,spec';
  if (policy && isAlone && Object.keys(metadata ?? {}).join(',') === 'name') return policy;
  throw new RollcallError(
    'USAGE',
    'the console writes one policy with its name and its rules; for more there is `kubectl apply`',
  );
}

/** Policies for the console: what `policy check` and `policy try` say, and one that is written as the person. */
export function consolePolicies(client: KubeClient, flags: BusFlags): PolicyDesk {
  return {
    async list() {
      return (await client.list<Policy>(resource)).map(policyRow);
    },
    async check(text): Promise<readonly FindingRow[]> {
      const findings = await findingsOf(readPolicies(text), await setsOf(client));
      return findings.map(({ line, column, severity, message }) => ({ line, column, severity, message }));
    },
    async tryOut({ text, days }, signal) {
      const policies = await goodPolicies(client, text);
      return withBusUntil(flags, signal, async ({ log }) =>
        trialRow(await tryFilePolicies(log, policies, { fromMs: Date.now() - days * dayMs })),
      );
    },
    async write({ text, version }) {
      const { name, rules } = onlyPolicy(await goodPolicies(client, text), text);
      const spec = { rules: [...rules] };
      if (version === undefined) {
        const object = { apiVersion, kind: resource.kind, metadata: { name }, spec };
        await client.create(resource, object, { strict: true });
        return { name, words: `policy "${name}" is written` };
      }
      const before = await client.get<Policy>(resource, { name });
      if (!before) throw new RollcallError('NOT_FOUND', `there is no policy "${name}" any more`);
      if (versionOf(before.metadata) !== version)
        throw new RollcallError('USAGE', `somebody else wrote policy "${name}" since you began`);
      // With its resourceVersion: who writes between these two lines is not overwritten either.
      await client.replace(resource, { ...before, spec }, { strict: true });
      return { name, words: `policy "${name}" is written` };
    },
  };
}
