import { jetstream, type JetStreamPublishOptions } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import { isSafeId } from '@rollcall/shared/events';
import { isLabelValue } from '@rollcall/shared/resources/label-syntax';
import { isNodeLabelName, mostNodeLabels } from '@rollcall/shared/resources/node-labels';
import { asBusError } from './bus-error.ts';
import { directGetLast } from './reads/direct-get.ts';
import { textOf } from './reads/raw-message.ts';
import { readTogether, subjects } from './reads/read-together.ts';

const count = z.int().min(0);
const short = z.string().max(256);

/** A clock that says 1970 is this far behind, and more. */
const mostSeconds = 1e11;
/** More names of resources than any node type has. */
const mostResources = 128;
const resources = z
  .record(z.string().max(63), z.string().max(32))
  .refine((all) => Object.keys(all).length <= mostResources, `more than ${mostResources} resources`);

const nodeLabels = z
  .record(
    z.string().max(63).refine(isNodeLabelName, 'no name of a label'),
    z.string().max(63).refine(isLabelValue, 'no value of a label'),
  )
  .refine((all) => Object.keys(all).length <= mostNodeLabels, `more than ${mostNodeLabels} labels of nodes`);

/**
 * What an agent reports of its member: a claim that the registrar has checked for shape only. Fields that are not known here are
 * left out, because an agent or another replica may be of a newer version; so what a version may say only widens by new fields,
 * never by other values or limits of one that an older hub knows.
 */
export const factsSchema = z.object({
  kubernetesVersion: short.optional(),
  platform: short.optional(),
  apiServerURL: short.optional(),
  apiServerCA: z.string().max(16_384).optional(),
  healthz: z.boolean().optional(),
  livez: z.boolean().optional(),
  readyz: z.boolean().optional(),
  nodes: z.object({ total: count, ready: count, schedulable: count, sample: short.optional() }).optional(),
  capacity: resources.optional(),
  allocatable: resources.optional(),
  podCIDRs: z.array(z.string().max(64)).max(16).optional(),
  serviceCIDRs: z.array(z.string().max(64)).max(16).optional(),
  provider: short.optional(),
  region: short.optional(),
  agentVersion: short.optional(),
  /** As whom people of the hub get into the member through its agent; absent: nobody does. */
  memberAccess: short.optional(),
  /** How far the agent finds its clock ahead of the hub's, behind where negative; absent where it is near. */
  clockAheadSeconds: z.int().min(-mostSeconds).max(mostSeconds).optional(),
  claims: z
    .array(z.object({ name: z.string().max(253), value: z.string().max(1024) }))
    .max(50)
    .optional(),
  /** How many claims of the member are not among them: too many, or too long. */
  claimsLeftOut: count.optional(),
  /** Labels that most nodes share, by what stands behind the prefix of their keys. */
  nodeLabels: nodeLabels.optional(),
});
export type Facts = z.infer<typeof factsSchema>;

const stream = 'FACTS';

/** The newest facts of each cluster: state, not history (principle 4). */
export interface FactStore {
  /** @throws RollcallError BUS_UNREACHABLE */
  put(clusterId: string, facts: Facts, epoch: number): Promise<void>;
  get(clusterId: string): Promise<{ facts: Facts; sequence: number; epoch: number } | undefined>;
  /**
   * Forgets those of a cluster that has left; newer ones stay.
   * @param sequence - of what is to be forgotten
   * @throws RollcallError BUS_UNREACHABLE
   */
  forget(clusterId: string, sequence: number): Promise<void>;
}

/** An id that is none, such as one with a wildcard in it, would stand for others. */
function subjectOf(clusterId: string): string {
  if (!isSafeId(clusterId)) throw new TypeError('unsafe cluster id');
  return `rollcall.facts.${clusterId}`;
}

export function openFactStore(nc: NatsConnection): FactStore {
  const js = jetstream(nc);
  const readNewest = readTogether(subjects, (wanted) => directGetLast(nc, stream, wanted));
  async function publish(clusterId: string, body: string, options: Partial<JetStreamPublishOptions>) {
    await js.publish(subjectOf(clusterId), body, options).catch((cause: unknown) => {
      throw asBusError(cause);
    });
  }
  return {
    async put(clusterId, facts, epoch) {
      const meta = headers();
      meta.set('rollcall-epoch', String(epoch));
      await publish(clusterId, JSON.stringify(facts), { headers: meta });
    },
    async forget(clusterId, sequence) {
      const meta = headers();
      // A service may delete nothing; it may put a message that ends by itself in the place of its own.
      meta.set('Nats-TTL', '1s');
      const expect = { lastSubjectSequence: sequence };
      await publish(clusterId, '', { headers: meta, expect }).catch((error: unknown) => {
        const isNewer = error instanceof RollcallError && error.code === 'APPEND_CONFLICT';
        if (!isNewer) throw error;
      });
    },
    async get(clusterId) {
      const [message] = await readNewest(subjectOf(clusterId));
      if (!message) return undefined;
      const facts = factsSchema.safeParse(parseJson(textOf(message)));
      if (!facts.success) return undefined;
      const { sequence } = message;
      return { facts: facts.data, sequence, epoch: Number(message.header('rollcall-epoch')) };
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
