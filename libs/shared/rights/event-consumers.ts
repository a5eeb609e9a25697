/** The services that have a durable consumer on EVENTS, and what wakes each of them. */
export const consumedEvents = {
  registrar: [
    'cluster.*.approved',
    'cluster.*.held',
    'cluster.*.denied',
    'cluster.*.revoked',
    'cluster.*.banned',
    'cluster.*.unbanned',
    'cluster.*.leaving',
    'cluster.*.deprovisioned',
    // Its own: the word of the agent may be the last that was waited for.
    'cluster.*.cleaned',
    // Its own: what is known of a cluster that has left is forgotten.
    'cluster.*.left',
    // Settings: what the cluster may have in Kubernetes is one of them.
    'cluster.*.changed',
    'cluster.*.cordoned',
    'cluster.*.uncordoned',
    // A person wants the agent to take a new key.
    'cluster.*.rotation-requested',
  ],
  approver: [
    'cluster.*.requested',
    'cluster.*.leave-requested',
    'cluster.*.rotated',
    'cluster.*.left',
    'cluster.*.flooding',
    'cluster.*.flooded',
    // What was held because it was too much may be a flood.
    'hub.*.bulk-confirmed',
    'policy.*.declared',
    'policy.*.withdrawn',
    'token.*.declared',
    'token.*.withdrawn',
    'token.*.published',
    // Its own: what ends in `revoked` must do so even if it stops in between.
    'cluster.*.approved',
    'cluster.*.denied',
    'cluster.*.banned',
    'cluster.*.unbanned',
    'cluster.*.leaving',
  ],
  'rbac-provisioner': [
    'cluster.*.approved',
    'cluster.*.denied',
    'cluster.*.revoked',
    'cluster.*.leaving',
    // Settings: access may have been withdrawn.
    'cluster.*.changed',
    'cluster.*.cordoned',
    'cluster.*.uncordoned',
    'token.*.declared',
    'token.*.withdrawn',
    'token.*.used',
  ],
  projector: [
    'cluster.*.*',
    'token.*.*',
    'policy.*.*',
    'set.*.*',
    'hub.*.bulk-held',
    'hub.*.bulk-confirmed',
    'hub.*.bulk-counted',
    'hub.*.admission-changed',
  ],
  'account-controller': ['cluster.*.revoked', 'cluster.*.approved'],
} as const;
export type ConsumingService = keyof typeof consumedEvents;

/** What happens to a cluster that leaves. A mass of it is handled a few at a time, so that it keeps nobody else waiting. */
const departures = ['leave-requested', 'leaving', 'cleaned', 'deprovisioned', 'left'];
const isDeparture = (filter: string) => departures.some((type) => filter === `cluster.*.${type}`);

/** A durable consumer of stream EVENTS. */
export interface ServiceConsumer {
  readonly name: string;
  /** Subjects below `rollcall.events.`. */
  readonly filters: readonly string[];
  readonly isOfDepartures: boolean;
}

/** The consumers of a service: one for what happens when clusters leave, where it hears of that by name, and one for the rest. */
export function consumersOf(service: ConsumingService): ServiceConsumer[] {
  const filters: readonly string[] = consumedEvents[service];
  const others = filters.filter((filter) => !isDeparture(filter));
  const ofDepartures = filters.filter(isDeparture);
  return [
    { name: service, filters: others, isOfDepartures: false },
    ...(ofDepartures.length > 0
      ? [{ name: `${service}-departures`, filters: ofDepartures, isOfDepartures: true }]
      : []),
  ];
}

/** Every durable consumer of stream EVENTS that a hub has. */
export const consumerNames = (Object.keys(consumedEvents) as ConsumingService[]).flatMap((service) =>
  consumersOf(service).map(({ name }) => name),
);
