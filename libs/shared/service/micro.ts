import { type Msg, type NatsConnection, nuid } from '@nats-io/transport-node';

/** A subject of its own that a service answers on, for `nats micro info`. */
export interface MicroEndpoint {
  readonly name: string;
  readonly subject: string;
  /** How many it has answered. */
  requests(): number;
}

/** Answers to `$SRV.PING|INFO|STATS` (NATS ADR-32), so that `nats micro ls` shows our services without a tool of ours. */
export interface MicroOptions {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Asked each time: a service may work only later. */
  endpoints(): readonly MicroEndpoint[];
  /** Figures, as `data` of the answer to STATS; asked each time. */
  stats(): Readonly<Record<string, number>>;
}

const verbs = ['PING', 'INFO', 'STATS'] as const;

export function serveMicro(nc: NatsConnection, options: MicroOptions): void {
  const id = nuid.next();
  const started = new Date().toISOString();
  const base = { name: options.name, id, version: options.version, metadata: options.metadata };
  const endpointsNow = () =>
    options.endpoints().map(({ name, subject, requests }) => ({
      info: { name, subject, queue_group: '' },
      requests: requests(),
    }));
  const bodies = {
    PING: () => ({ ...base, type: 'io.nats.micro.v1.ping_response' }),
    INFO: () => ({
      ...base,
      type: 'io.nats.micro.v1.info_response',
      description: options.description,
      endpoints: endpointsNow().map(({ info }) => info),
    }),
    STATS: () => ({
      ...base,
      type: 'io.nats.micro.v1.stats_response',
      started,
      endpoints: endpointsNow().map(({ info, requests }) => ({
        ...info,
        num_requests: requests,
        num_errors: 0,
        last_error: '',
        processing_time: 0,
        average_processing_time: 0,
      })),
      data: options.stats(),
    }),
  };
  for (const verb of verbs) {
    const answer = (error: Error | null, message: Msg) => {
      if (!error) message.respond(JSON.stringify(bodies[verb]()));
    };
    for (const suffix of ['', `.${options.name}`, `.${options.name}.${id}`]) {
      nc.subscribe(`$SRV.${verb}${suffix}`, { callback: answer });
    }
  }
}
