/** What a hub is made of and set to. A machine of a service has one core for each replica, as Node runs on one. */
export interface HubNumbers {
  readonly natsServers: number;
  readonly natsCores: number;
  readonly natsGb: number;
  /** Of the servers that keep the streams; with several there are three of these. */
  readonly natsDiskGb: number;
  /** Of API server, etcd and controllers together. */
  readonly apiCores: number;
  readonly apiGb: number;
  readonly etcdQuotaGb: number;
  /** Of each service but the registrar. */
  readonly replicas: number;
  readonly registrars: number;
  /** Parts of the fleet that heartbeat services share. */
  readonly heartbeatParts: number;
  /** 1: Kubernetes shows every cluster; 0: `projection: exceptions`. */
  readonly showsAll: number;
  /** 1: every cluster has a namespace; 0: `namespaces: access`. */
  readonly namespacesForAll: number;
  readonly returnsPerSecond: number;
  readonly heartbeatsPerSecond: number;
  readonly intervalSeconds: number;
  readonly projectorWritesPerSecond: number;
  /** 0: machines of their own; else everything, the agents too, on one machine with so many cores, and the services in one process. */
  readonly sharedCores: number;
}

const usual: HubNumbers = {
  natsServers: 3,
  natsCores: 4,
  natsGb: 16,
  natsDiskGb: 50,
  apiCores: 8,
  apiGb: 32,
  etcdQuotaGb: 8,
  replicas: 2,
  registrars: 2,
  heartbeatParts: 1,
  showsAll: 1,
  namespacesForAll: 1,
  returnsPerSecond: 500,
  heartbeatsPerSecond: 20_000,
  intervalSeconds: 15,
  projectorWritesPerSecond: 200,
  sharedCores: 0,
};

/** `usual`: three servers and every setting as it is. `wide`: built for a million. `bench`: what the costs were measured on. */
export const hubs = {
  usual,
  wide: {
    ...usual,
    natsServers: 10,
    natsGb: 32,
    natsDiskGb: 100,
    registrars: 8,
    heartbeatParts: 2,
    showsAll: 0,
    namespacesForAll: 0,
    returnsPerSecond: 4000,
  },
  bench: { ...usual, natsServers: 1, replicas: 1, registrars: 1, sharedCores: 2 },
} as const satisfies Readonly<Record<string, HubNumbers>>;

export type HubName = keyof typeof hubs;
