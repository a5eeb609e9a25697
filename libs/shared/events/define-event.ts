import { z } from 'zod';

export const eventKinds = ['cluster', 'token', 'name', 'key', 'policy', 'set', 'hub'] as const;
export type EventKind = (typeof eventKinds)[number];

export const eventWriters = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'account-controller',
  'agent-host',
  // No service: the command that fills the streams of a restored hub.
  'restore',
  // No service: the command that takes old events out of the stream.
  'archive',
] as const;
export type EventWriter = (typeof eventWriters)[number];

/** Who caused a decision: a rule of a policy, a person, or a service by its own fixed rules. */
export const causeSchema = z.looseObject({
  policy: z.string().optional(),
  generation: z.int().optional(),
  rule: z.string().optional(),
  person: z.string().optional(),
  service: z.string().optional(),
});
export type Cause = z.infer<typeof causeSchema>;

/** The body of every event (surfaces: "One event on the wire"). Open inside, so that an old replica passes on new fields. */
function bodySchema<Section extends z.ZodType>(section: Section) {
  return z.looseObject({
    epoch: z.int().min(1),
    /** The event before this one of the same aggregate; absent for its first. */
    previous: z
      .looseObject({ sequence: z.int().min(1), digest: z.string().startsWith('sha256:') })
      .optional(),
    correlation: z.string().max(64),
    by: causeSchema.optional(),
    /** CamelCase; becomes the reason of a condition. */
    reason: z.string().regex(/^[A-Z][A-Za-z0-9]*$/),
    message: z.string().max(1024),
    section,
  });
}

export interface EventDefinition<Section extends z.ZodType = z.ZodType> {
  readonly kind: EventKind;
  readonly type: string;
  readonly writer: EventWriter;
  readonly version: number;
  /** For the reference in docs/events: what happened, what may follow, when it repeats. */
  readonly description: string;
  readonly section: Section;
  readonly body: ReturnType<typeof bodySchema<Section>>;
}

/** Describes one type of event: the single source of its schema, its documentation and the right to write it. */
export function defineEvent<Section extends z.ZodType>(
  definition: Omit<EventDefinition<Section>, 'body' | 'version'>,
): EventDefinition<Section> {
  return { ...definition, version: 1, body: bodySchema(definition.section) };
}

/** `dev.rollcall.cluster.approved.v1`, the CloudEvents type. */
export function eventTypeName(definition: Pick<EventDefinition, 'kind' | 'type' | 'version'>): string {
  return `dev.rollcall.${definition.kind}.${definition.type}.v${definition.version}`;
}
