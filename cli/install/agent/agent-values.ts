import { z } from 'zod';
import { maxClientIdLength } from '@rollcall/shared/events/safe-id';
import { rollcallVersion } from '@rollcall/shared/service/version';
import type { ValuesRule } from '../values.ts';
import { isLabelKey, isLabelValue } from '@rollcall/shared/resources/label-syntax';

const anything = z.looseObject({});
/** As `isSafeId` of the shared library, for the schema of the chart. */
const namePattern = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/;
const pinPattern = /^(sha256:[0-9a-f]{64}(,sha256:[0-9a-f]{64})*)?$/;

/** As `parseMemberAccess` of the agent has them. */
const hubNamePattern = /^[^\s,=]{1,256}$/;
const both = (letter: string): string => `${letter}${letter.toUpperCase()}`;

/** Anything but what begins with `system:`, in the words of RE2, which Helm reads: it has no look-ahead. */
function groupPattern(): RegExp {
  const ways = [...'system:'].map((letter, index, all) => {
    const before = all.slice(0, index).map((one) => `[${both(one)}]`);
    const other = `[^\\s,=${both(letter)}][^\\s,=]*`;
    return `${before.join('')}${index === 0 ? other : `(${other})?`}`;
  });
  return new RegExp(`^(${ways.join('|')})$`);
}

/**
 * What can be said about an agent that is installed in a member: by `rollcall install agent`, by the chart, and by the values that
 * a published token hands out (surfaces: "Published Secret"). values.yaml and values.schema.json of the chart are made from this.
 */
export const agentValuesSchema = z.strictObject({
  hub: z.string().default('').describe('Addresses of the hub, HOST:PORT, separated by commas.'),
  caBundle: z
    .string()
    .default('')
    .describe('How the hub is known: its CA certificates (PEM); or give caCertHash.'),
  caCertHash: z
    .string()
    .regex(pinPattern)
    .default('')
    .describe("Hash of the public key of the hub's CA, sha256:<64 hex digits>; several with commas."),
  token: z
    .string()
    .default('')
    .describe('Registration token. Needed until the hub has let the agent in; the agent forgets it then.'),
  existingSecret: z
    .boolean()
    .default(false)
    .describe(
      'Secret rollcall-bootstrap is there already, with the keys hub, caBundle or caCertHash, and token.',
    ),
  clusterName: z
    .string()
    .regex(namePattern)
    .default('')
    .describe('Name on the hub. Empty: cluster-<first 8 characters of its id>.'),
  clientID: z
    .string()
    .max(maxClientIdLength)
    .default('')
    .describe('Identity on the hub. Empty: the UID of namespace kube-system.'),
  labels: z
    .record(z.string().refine(isLabelKey), z.string().refine(isLabelValue))
    .default({})
    .describe('Labels to ask for; the token says which of them it allows.'),
  clusterType: z
    .enum(['', 'Standard', 'Edge'])
    .default('')
    .describe('Edge: expected to be away often. Empty: Standard.'),
  memberAccess: z
    .strictObject({
      users: // Only true: a rule of RBAC without a single name is one for all names.
        z
          .record(z.string().regex(hubNamePattern), z.literal(true))
          .default({})
          .describe('Names of users on the hub: alice: true lets her in as rollcall:alice.'),
      groups: z
        .record(z.string().regex(hubNamePattern), z.string().regex(groupPattern()))
        .default({})
        .describe('Groups of the hub, and what each is here; never one of Kubernetes itself.'),
      serviceAccount: z
        .string()
        .regex(/^([a-z0-9][a-z0-9.-]{0,252})?$/)
        .default('')
        .describe('Instead: the account in namespace rollcall-agent as which everybody gets in.'),
    })
    .prefault({})
    .describe(
      'Who of the hub may work in this cluster through its agent. Empty: nobody, and nothing listens. What they may is up to the rights that you give rollcall:NAME and the groups here (docs/member-access.md).',
    ),
  image: z.string().min(1).default(`rollcall-agent:${rollcallVersion}`).describe('Image of the agent.'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent', 'Never'])
    .default('IfNotPresent')
    .describe('When it is pulled.'),
  imagePullSecrets: z
    .array(z.strictObject({ name: z.string() }))
    .default([])
    .describe('Secrets in namespace rollcall-agent to pull it with.'),
  env: z
    .array(z.looseObject({ name: z.string().min(1) }))
    .default([])
    .describe('Further variables of the container, as in a Pod; variables of your own image for example.'),
  hostAliases: z
    .array(z.strictObject({ ip: z.string(), hostnames: z.array(z.string()) }))
    .default([])
    .describe('Names that DNS does not know in the member, the one of the hub for example.'),
  proxy: z
    .string()
    .default('')
    .describe(
      'HTTP proxy to the hub: http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ before the host where it asks for them.',
    ),
  noProxy: z
    .string()
    .default('')
    .describe('Names and addresses of hubs that are reached without it, separated by commas.'),
  proxyCaBundle: z
    .string()
    .default('')
    .describe('CA certificates (PEM) of a proxy with https://. Empty: the public ones.'),
  resources: anything
    .default({ requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '128Mi' } })
    .describe('Of the container. Measured: about 63 MB, and no CPU worth mentioning.'),
  priorityClassName: z.string().default('').describe('Of the Pod.'),
  nodeSelector: z.record(z.string(), z.string()).default({}).describe('Of the Pod.'),
  tolerations: z.array(anything).default([]).describe('Of the Pod.'),
  affinity: anything.default({}).describe('Of the Pod.'),
  networkPolicy: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe('Nobody connects to the agent: it listens on nothing, and this says so.'),
      egress: z
        .array(anything)
        .default([])
        .describe(
          'Where the agent may connect to, as in a NetworkPolicy: DNS, API server, hub. Empty: anywhere.',
        ),
    })
    .prefault({})
    .describe('NetworkPolicy of the namespace of the agent.'),
});
export type AgentValues = z.output<typeof agentValuesSchema>;

const ofBootstrap = ['hub', 'caBundle', 'caCertHash', 'token', 'proxy', 'noProxy', 'proxyCaBundle'];

export const agentRules: readonly ValuesRule[] = [
  { where: ['not existingSecret', 'not hub'], message: 'hub: the addresses of the hub are missing' },
  {
    where: ['not existingSecret', 'not caBundle', 'not caCertHash'],
    message: 'caCertHash: give it or caBundle, so that the hub can be told from others',
  },
  ...ofBootstrap.map((path) => ({
    where: ['existingSecret', path],
    message: `${path}: existingSecret is true, so Secret rollcall-bootstrap says it; leave one of the two out`,
  })),
  {
    where: ['memberAccess.groups', 'not memberAccess.users'],
    message: 'memberAccess.groups: only those in memberAccess.users get in, and there is nobody in it',
  },
  {
    where: ['memberAccess.serviceAccount', 'memberAccess.users'],
    message:
      'memberAccess.serviceAccount: everybody gets in as it, so nobody does by memberAccess.users; leave one of the two out',
  },
];
