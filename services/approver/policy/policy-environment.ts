import {
  createKubernetesEnvironment,
  type KubernetesEnvironment,
} from './kubernetes-library/kubernetes-environment.ts';
import { parserLimits } from './policy-limits.ts';

/** What a field of a root holds. Absent fields are an error when read: an expression asks `has(claimed.region)` first. */
type FieldType = 'string' | 'int' | 'bool' | 'map<string, string>' | 'map<string, int>';

/**
 * What expressions can see, by root. A name that is not here does not compile. `claimed` is what the agent says and nobody
 * verified (principle 10). Also the list of the fields that are whole numbers, which CEL keeps apart from doubles.
 */
export const policyRoots = {
  request: {
    clusterId: 'string',
    clusterName: 'string',
    clientId: 'string',
    clusterType: 'string',
    mode: 'string',
    labels: 'map<string, string>',
  },
  token: {
    valid: 'bool',
    name: 'string',
    namespace: 'string',
    uses: 'int',
    unlimited: 'bool',
    clusterName: 'string',
    clientId: 'string',
    clusterSet: 'string',
    labels: 'map<string, string>',
  },
  claimed: {
    kubernetesVersion: 'string',
    platform: 'string',
    provider: 'string',
    region: 'string',
    apiServerURL: 'string',
    nodes: 'int',
    agentVersion: 'string',
    labels: 'map<string, string>',
  },
  verified: { keyChanged: 'bool', sameMember: 'bool' },
  /** What the fleet was just before the decision; the maps have every set and every policy that is there, with 0. */
  fleet: {
    clusters: 'int',
    pending: 'int',
    approvedToday: 'int',
    bySet: 'map<string, int>',
    byPolicyToday: 'map<string, int>',
  },
  /** UTC. weekday counts from Sunday, 0; date is as in 2026-11-21. */
  time: { nowMs: 'int', hour: 'int', minute: 'int', weekday: 'int', date: 'string' },
} as const satisfies Record<string, Record<string, FieldType>>;

/** The values of the roots; every field but the required ones may be missing. */
export type PolicyInput = {
  readonly [Root in keyof typeof policyRoots]: Readonly<Record<string, string | number | boolean | object>>;
};

/** The language of policies: CEL with Kubernetes' libraries and our roots, and nothing of the host. */
export function createPolicyEnvironment(): KubernetesEnvironment {
  return createKubernetesEnvironment({ limits: parserLimits }, (environment) => {
    for (const [name, schema] of Object.entries(policyRoots)) environment.registerVariable({ name, schema });
  });
}

/**
 * The input as the worker evaluates it: no object has a prototype and every map is a Map, so that `__proto__` and
 * `constructor` are keys like any other; whole numbers are CEL's ints. Fields that are no roots' are left out.
 */
export function toCelValues(json: string): Record<string, Record<string, unknown>> {
  const input = JSON.parse(json) as Record<string, Record<string, unknown>>;
  const roots: Record<string, Record<string, unknown>> = Object.create(null);
  for (const [root, fields] of Object.entries(policyRoots)) {
    const values: Record<string, unknown> = Object.create(null);
    for (const [field, type] of Object.entries(fields)) {
      const value = input[root]?.[field];
      if (value !== undefined) values[field] = celValue(type, value);
    }
    roots[root] = values;
  }
  return roots;
}

function celValue(type: FieldType, value: unknown): unknown {
  if (type === 'int' && typeof value === 'number') return BigInt(value);
  if (type === 'map<string, string>') return new Map(Object.entries(value as object));
  if (type === 'map<string, int>')
    return new Map(
      Object.entries(value as Record<string, number>).map(([key, count]) => [key, BigInt(count)]),
    );
  return value;
}
