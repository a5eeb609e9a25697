import { z } from 'zod';
import { publicHostPattern } from '@rollcall/shared/config';
import { namespaces } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import type { ValuesRule } from '../values.ts';

const anything = z.looseObject({});

/** What differs between services; the order is that of their keys. `mostReplicas`: where two would be in each other's way. */
const service = (memory: string, { leastReplicas = 1, mostReplicas = 100 } = {}) =>
  z
    .strictObject({
      replicas: z.int().min(leastReplicas).max(mostReplicas).default(1),
      resources: anything.default({ requests: { cpu: '50m', memory }, limits: { memory: '1Gi' } }),
      healthPort: z.int().min(1).max(65_535).default(8080),
      env: z.array(z.looseObject({ name: z.string().min(1) })).default([]),
    })
    .prefault({});

/**
 * What can be said about a hub that is installed in a cluster. No key is among it: keys are in Secrets, which
 * `rollcall install hub` makes (docs/install.md), and a release of Helm never has them.
 */
export const hubValuesSchema = z.strictObject({
  hub: z
    .strictObject({
      id: z.string().default(''),
      addresses: z.string().default(''),
      caBundle: z.string().default(''),
      caCertHash: z.string().default(''),
      epoch: z.string().default('1'),
      keys: z.string().default(''),
      memberGatewayCa: z.string().default(''),
      servers: z.literal([1, 3]).default(1),
      websocket: z.boolean().default(false),
    })
    .prefault({})
    .describe('What is public of the hub, as `rollcall install hub --only-keys` prints it.'),
  parts: z
    .strictObject({ kubernetes: z.boolean().default(true), workloads: z.boolean().default(true) })
    .prefault({})
    .describe(
      'Which parts of the hub this cluster has: kubernetes, what people see (kinds, rights, admission policies); workloads, what runs (NATS, services). Where they are apart, services reach the other cluster by the kubeconfigs in Secrets rollcall-kubeconfig-NAME.',
    ),
  attribution: z
    .boolean()
    .default(false)
    .describe('Kubernetes 1.36 or newer: the API server fills in who decided.'),
  image: z.string().min(1).default(`rollcall:${rollcallVersion}`).describe('Image of the services.'),
  imagePullPolicy: z
    .enum(['Always', 'IfNotPresent', 'Never'])
    .default('IfNotPresent')
    .describe('When images are pulled.'),
  imagePullSecrets: z
    .array(z.strictObject({ name: z.string() }))
    .default([])
    .describe('Secrets in namespace rollcall-system to pull them with.'),
  nats: z
    .strictObject({
      image: z.string().min(1).default('nats:2.15.2'),
      address: z.string().min(1).default('rollcall-nats.rollcall-system.svc:4222'),
      host: z.string().default('0.0.0.0'),
      port: z.int().min(1).max(65_535).default(4222),
      routePort: z.int().min(1).max(65_535).default(6222),
      websocketPort: z.int().min(1).max(65_535).default(8443),
      storage: z.string().default('10Gi'),
      storageClassName: z.string().default(''),
      resources: anything.default({
        requests: { cpu: '250m', memory: '256Mi' },
        limits: { memory: '2Gi' },
      }),
      serviceType: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('LoadBalancer'),
      serviceAnnotations: z.record(z.string(), z.string()).default({}),
      nodePort: z.int().min(0).max(65_535).default(0),
      websocketNodePort: z.int().min(0).max(65_535).default(0),
      loadBalancerIP: z.string().default(''),
      externalIPs: z.array(z.string()).default([]),
      ingress: z
        .strictObject({
          host: z.string().default(''),
          className: z.string().default(''),
          annotations: z.record(z.string(), z.string()).default({}),
        })
        .prefault({}),
    })
    .prefault({})
    .describe(
      'The NATS servers: how services reach them, what they keep, how agents get to them. host: where they listen, `$POD_IP` for nothing but the address of the pod. nodePort, loadBalancerIP, externalIPs: what is advertised, where it has to be known beforehand (0 and empty: Kubernetes chooses). ingress: for an address wss://HOST; its annotations have the controller pass TLS through.',
    ),
  services: z
    .strictObject({
      'agent-host': service('128Mi', { mostReplicas: 1 }),
      approver: service('128Mi'),
      heartbeat: service('128Mi'),
      projector: service('128Mi'),
      'rbac-provisioner': service('128Mi'),
      registrar: service('128Mi'),
      'account-controller': service('128Mi'),
      'member-gateway': service('128Mi', { leastReplicas: 0 }),
    })
    .prefault({})
    .describe(
      'The services, each a Deployment. env takes their settings: `rollcall serve NAME --help`. 0 replicas of member-gateway: nobody reaches members through this hub.',
    ),
  tokenNamespaces: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
        .refine((name) => name === namespaces.join || !/^(kube|rollcall)-/.test(name), 'is reserved'),
    )
    .min(1)
    .default([namespaces.join])
    .describe(
      'Namespaces in which registration tokens count, and in which the hub may write the Secrets of those that it makes. Others than rollcall-join have to be there already, and should hold nothing else that is secret: the rbac-provisioner may read what lies there.',
    ),
  memberGateway: z
    .strictObject({
      port: z.int().min(1).max(65_535).default(443),
      servingPort: z.int().min(1).max(65_535).default(8443),
      externalName: z.string().default(''),
    })
    .prefault({})
    .describe(
      "How the hub's API server reaches the member gateway: at `port` of a Service, behind which it listens at `servingPort`. externalName: the name by which an API server in another cluster finds it; empty: rollcall-member-gateway.rollcall-system.svc, for one whose pods are where those of the hub are.",
    ),
  console: z
    .strictObject({
      host: z
        .string()
        .regex(
          new RegExp(`^$|${publicHostPattern.source}`),
          'a host name, in small letters, perhaps with a port',
        )
        .default(''),
      tlsSecret: z.string().default(''),
      behindProxy: z.boolean().default(false),
      serviceType: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']).default('ClusterIP'),
      serviceAnnotations: z.record(z.string(), z.string()).default({}),
      ingress: z
        .strictObject({
          enabled: z.boolean().default(false),
          className: z.string().default(''),
          annotations: z.record(z.string(), z.string()).default({}),
        })
        .prefault({}),
      resources: anything.default({ requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '2Gi' } }),
      servingPort: z.int().min(1).max(65_535).default(8443),
      healthPort: z.int().min(1).max(65_535).default(8080),
      env: z.array(z.looseObject({ name: z.string().min(1) })).default([]),
    })
    .prefault({})
    .describe(
      "The console: the fleet in a browser at https://HOST, for people who sign in with a token of the hub's API server, with the rights of each (docs/console.md). host: the one name it answers to; empty: there is none. tlsSecret: the Secret (kubernetes.io/tls) with a certificate for it. behindProxy: a proxy in front signs people in, and passes their token in Authorization. ingress: its annotations have the controller pass TLS through, or speak TLS to it. env takes its settings: `rollcall serve console --help`.",
    ),
  forward: z
    .strictObject({
      secret: z.string().default(''),
      signed: z.boolean().default(false),
      args: z.array(z.string()).default([]),
      resources: anything.default({ requests: { cpu: '10m', memory: '96Mi' }, limits: { memory: '512Mi' } }),
    })
    .prefault({})
    .describe(
      'Sends what happens to a sink over HTTP, as the command for that does (docs/watching.md). secret: the Secret with its address in `url`, and in `signing-secret` what messages are signed by, if signed; it is mounted at /var/run/rollcall/sink. Empty: nothing is sent. args: what is sent, and how: flags of that command.',
    ),
  healthAddress: z
    .string()
    .default('0.0.0.0')
    .describe("Where services answer probes, show metrics, and are reached by the hub's API server."),
  hostAliases: z
    .array(z.strictObject({ ip: z.string(), hostnames: z.array(z.string()) }))
    .default([])
    .describe('Of all Pods.'),
  priorityClassName: z.string().default('').describe('Of all Pods.'),
  nodeSelector: z.record(z.string(), z.string()).default({}).describe('Of all Pods.'),
  tolerations: z.array(anything).default([]).describe('Of all Pods.'),
  affinity: anything
    .default({})
    .describe(
      'Of all Pods. Empty: NATS servers are on different nodes, and replicas of a service are if there is room.',
    ),
  networkPolicy: z
    .strictObject({ enabled: z.boolean().default(true) })
    .prefault({})
    .describe(
      'What is reached at all: NATS, the probes and metrics of services, and where the member gateway and the console serve.',
    ),
});
export type HubValues = z.output<typeof hubValuesSchema>;

/** Values that contradict each other. */
export const hubContradictions: readonly ValuesRule[] = [
  {
    where: ['not parts.kubernetes', 'not parts.workloads'],
    message: 'parts: kubernetes and workloads are both false, so nothing would be installed',
  },
  ...['nodePort', 'websocketNodePort'].map((port) => ({
    where: [`nats.${port}`, 'nats.serviceType is ClusterIP'],
    message: `nats.${port}: a Service of type ClusterIP has none; set nats.serviceType to NodePort or LoadBalancer`,
  })),
  {
    where: ['nats.websocketNodePort', 'not hub.websocket'],
    message: 'nats.websocketNodePort: no address begins with wss://, so no server listens for WebSocket',
  },
  {
    where: ['nats.ingress.host', 'not hub.websocket'],
    message: 'nats.ingress.host: no address begins with wss://, so no server listens for WebSocket',
  },
  {
    where: ['nats.nodePort', 'nats.nodePort equals nats.websocketNodePort'],
    message: 'nats.websocketNodePort: it is the same as nats.nodePort',
  },
  {
    where: ['nats.loadBalancerIP', 'not nats.serviceType is LoadBalancer'],
    message: 'nats.loadBalancerIP: only a Service of type LoadBalancer has it; set nats.serviceType to that',
  },
  ...[
    ['nats.routePort', 'nats.port', 'hub.servers is 3'],
    ['nats.websocketPort', 'nats.port', 'hub.websocket'],
    ['nats.websocketPort', 'nats.routePort', 'hub.websocket', 'hub.servers is 3'],
    ['memberGateway.servingPort', 'services.member-gateway.healthPort', 'services.member-gateway.replicas'],
    ['console.servingPort', 'console.healthPort', 'console.host'],
  ].map(([port = '', other = '', ...where]) => ({
    where: [`${port} equals ${other}`, ...where],
    message: `${port}: it is the same as ${other}, and one process listens at both`,
  })),
  {
    where: ['console.host', 'not console.tlsSecret'],
    message:
      'console.tlsSecret: the console speaks nothing but TLS; name a Secret of type kubernetes.io/tls with a certificate for console.host',
  },
  {
    where: ['forward.signed', 'not forward.secret'],
    message: 'forward.signed: forward.secret is empty, so nothing is sent',
  },
  {
    where: ['console.ingress.enabled', 'not console.host'],
    message: 'console.ingress.enabled: console.host is empty, so there is no console to lead to',
  },
  {
    where: ['memberGateway.externalName', 'not services.member-gateway.replicas'],
    message:
      'memberGateway.externalName: services.member-gateway.replicas is 0, so there is no member gateway to find',
  },
];

export const hubRules: readonly ValuesRule[] = [
  {
    where: ['not hub.id'],
    message:
      'hub.id: a hub begins with its keys; `rollcall install hub --only-keys` makes them, and prints the values of hub',
  },
  {
    where: ['not hub.memberGatewayCa'],
    message:
      'hub.memberGatewayCa: by which the API server knows the member gateway; `rollcall install hub --only-keys`, once more, makes it and prints the values of hub',
  },
  ...hubContradictions,
];
