import { z } from 'zod';

/**
 * The ConfigMap that shows the bulk change that waits (`data.held`) and what of a confirmed one is not acted on yet
 * (`data.confirmed`), each as JSON. Shipped empty in deploy/rbac; written by the projector alone, and nothing is decided by it.
 */
export const heldOperationsPlace = { name: 'rollcall-operations', namespace: 'rollcall-system' } as const;

const operationSchema = z.looseObject({
  cluster: z.string(),
  clusterId: z.string(),
  /** The event that would follow, such as `leaving`. */
  operation: z.string(),
  /** Who wants it. */
  by: z.string(),
  /** Tells this operation about the cluster from another one. */
  digest: z.string(),
});
export type ShownOperation = z.infer<typeof operationSchema>;

const heldSchema = z.looseObject({ id: z.string(), limit: z.int(), operations: z.array(operationSchema) });
const confirmedSchema = z.looseObject({ at: z.string(), operations: z.array(operationSchema) });

export interface ShownOperations {
  readonly held?: z.infer<typeof heldSchema> | undefined;
  readonly confirmed?: z.infer<typeof confirmedSchema> | undefined;
}

function parsed<Shape>(schema: z.ZodType<Shape>, text: string | undefined): Shape | undefined {
  try {
    return text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** What the ConfigMap says; what is missing or cannot be read is left out. */
export function readShownOperations(data: Readonly<Record<string, string>> | undefined): ShownOperations {
  return {
    held: parsed(heldSchema, data?.['held']),
    confirmed: parsed(confirmedSchema, data?.['confirmed']),
  };
}

/** One operation a line, so that kubectl shows it as people can read it. */
function jsonOf({ operations, ...rest }: { readonly operations: readonly ShownOperation[] }): string {
  const head = JSON.stringify(rest).slice(0, -1);
  return `${head},"operations":[\n${operations.map((operation) => JSON.stringify(operation)).join(',\n')}\n]}\n`;
}

/** The data of the ConfigMap; `null` takes away what is not there any more. */
export function dataOfOperations({
  held,
  confirmed,
}: ShownOperations): Readonly<Record<string, string | null>> {
  return { held: held ? jsonOf(held) : null, confirmed: confirmed ? jsonOf(confirmed) : null };
}
