/** A number that was measured: of which unit, where it stands, and on which machine. */
export interface Cost {
  readonly value: number;
  readonly unit: string;
  readonly from: string;
  readonly machine: keyof typeof machines;
}

/** All with two shared cores and Node 24.21. */
export const machines = {
  intel: 'Intel Xeon, 2 cores, 25 GB',
  amd: 'AMD EPYC, 2 cores, 25 GB',
} as const;

const cost = (value: number, unit: string, from: string, machine: keyof typeof machines = 'intel'): Cost => ({
  value,
  unit,
  from,
  machine,
});

const results = 'bench/results/2026-11-2';
const burst = `${results}2-ed0a142-changed-joins-burst-restart.json`;
const replicas = 'bench/results/2026-11-28-46fb4e51-changed-replicas.json';
/** What all take in one process, divided as it is between processes. */
const shares = `${burst}, divided as in ${replicas}`;
const herd = `${results}1-d4fed18-changed-herd.json`;
const lapsed = `${results}1-d4fed18-changed-lapsed.json`;
const callout = `${results}1-8fb878d-callout-renewal-unregister-restore.json`;
const rest = `${results}1-32a1e2f-rest.json`;
const adr = (number: string) => `docs/decisions/${number}`;
const scale = (section: string) => `docs/scale.md, ${section}`;

/** What one of something takes of a core, of memory and of disk. */
export const costs = {
  natsTlsMs: cost(1.3, 'ms a handshake', adr('0013-overload.md, a fleet that returns')),
  natsReturnMs: cost(2.37, 'ms a return, its handshake and first heartbeat with it', herd),
  natsCalloutMs: cost(2.69, 'ms a connection with a token, its handshake with it', callout),
  natsJoinMessagesMs: cost(3.44, 'ms a join, beside three handshakes and the callout', burst),
  natsHeartbeatUs: cost(43, 'µs a heartbeat, each of a connection of its own', rest),
  natsClaimsPushMs: cost(
    0.2,
    'ms a connection and push of claims',
    adr('0013-overload.md, a fleet that leaves'),
  ),
  natsReadUs: cost(78, 'µs a cluster that a heartbeat service reads, up to a million subjects', burst),
  natsReadManyUs: cost(149, 'µs the same beyond a million subjects', adr('0017-event-log.md, lists')),
  registrarCalloutMs: cost(1.43, 'ms a connection with a token', callout),
  natsLapsedMs: cost(9.3, 'ms a return by the key, with both of its connections', lapsed),
  registrarLapsedMs: cost(7.05, 'ms a return by the key', lapsed),
  registrarRenewalMs: cost(0.886, 'ms a renewal', callout),
  registrarJoinMs: cost(3.47, 'ms a join, its callout with it', shares),
  approverJoinMs: cost(3.19, 'ms a join', shares),
  provisionerJoinMs: cost(2.06, 'ms a join', shares),
  heartbeatJoinMs: cost(1.73, 'ms a join', shares),
  projectorJoinMs: cost(5.39, 'ms a join', shares),
  accountJoinMs: cost(0.75, 'ms a join', shares),
  apartTimes: cost(1.45, 'times as much, where each service is a process of its own', replicas),
  registrarEachShare: cost(0.23, 'of its work for a join, by each further replica', replicas),
  approverEachShare: cost(0.54, 'of its work for a join, by each further replica', replicas),
  provisionerEachShare: cost(0.48, 'of its work for a join, by each further replica', replicas),
  projectorEachShare: cost(0.48, 'of its work for a join, by each further replica', replicas),
  accountEachShare: cost(0.85, 'of its work for a join, by each further replica', replicas),
  natsEachReplicaMs: cost(2.6, 'ms a join, for each further replica of all services', replicas),
  apiEachReplicaShare: cost(0.21, 'of a write, for each further replica of those that watch', replicas),
  heartbeatReturnMs: cost(0.41, 'ms a return', herd),
  heartbeatUs: cost(8.4, 'µs a heartbeat', scale('Liveness (14 % of a core at 16,700 a second)')),
  heartbeatReadUs: cost(88, 'µs a cluster that it reads at its start, up to a million subjects', burst),
  heartbeatReadManyUs: cost(150, 'µs the same beyond a million subjects', scale('What to add, when')),
  projectorReadUs: cost(750, 'µs a cluster that it compares', scale('Where it is short of its goals'), 'amd'),
  apiListUs: cost(350, 'µs an object in a list', scale('Where it is short of its goals'), 'amd'),
  apiWriteMs: cost(4.54, 'ms a write, with one replica of all services', burst),
  etcdWriteMs: cost(1.05, 'ms a write', burst),
  apiReadMs: cost(0.87, 'ms a read', `${results}2-061953b-changed-requests.json`),
  agentReturnMs: cost(4.36, 'ms of the agent’s own machine a return', herd),
  agentJoinMs: cost(10.5, 'ms of the agent’s own machine a join', burst),
  departureReads: cost(
    89,
    'requests to the API server for a cluster that leaves',
    scale('When many leave at once'),
  ),
  natsConnectionBytes: cost(75_000, 'bytes a connection with TLS', scale('What a cluster takes')),
  natsSubjectsBytes: cost(
    7500,
    'bytes a cluster, for the subjects of its events',
    scale('2.8 GB at 375,000 clusters'),
  ),
  eventsBytes: cost(5000, 'bytes a cluster in stream EVENTS', scale('What a cluster takes')),
  factsBytes: cost(1000, 'bytes a cluster in stream FACTS', scale('What a cluster takes')),
  eventsYearBytes: cost(50_000, 'bytes a cluster and year in stream EVENTS', scale('What a cluster takes')),
  heartbeatBytes: cost(150, 'bytes a cluster, of the heartbeat service', scale('Liveness')),
  heartbeatStartBytes: cost(3900, 'bytes a cluster just after its start, garbage with it', burst),
  projectorBytes: cost(
    9300,
    'bytes a cluster that is shown',
    `${results}2-59f1768-changed-projector.json`,
    'amd',
  ),
  clusterObjectBytes: cost(6400, 'bytes in etcd: ManagedCluster and request', scale('What a cluster takes')),
  namespaceBytes: cost(800, 'bytes in etcd: namespace', scale('What a cluster takes')),
  namespaceContentBytes: cost(
    1850,
    'bytes in etcd: account and ConfigMap that Kubernetes puts there',
    scale('What a cluster takes'),
  ),
  etcdTimes: cost(2.1, 'bytes of the file of etcd a byte stored', scale('What a cluster takes')),
} as const satisfies Readonly<Record<string, Cost>>;

export type CostName = keyof typeof costs;
