import { z } from 'zod';

/**
 * The ConfigMap that shows the mass of wishes that waits (`data.held`) and what of a confirmed one is not acted on yet
 * (`data.confirmed`), each as JSON. Shipped empty in deploy/rbac; written by the projector alone, and nothing is decided by it.
 */
export const heldWishesPlace = { name: 'rollcall-wishes', namespace: 'rollcall-system' } as const;

const wishSchema = z.looseObject({
  cluster: z.string(),
  clusterId: z.string(),
  /** The event that would follow, such as `leaving`. */
  wish: z.string(),
  /** Who wishes it. */
  by: z.string(),
  /** Tells this wish about the cluster from another one. */
  digest: z.string(),
});
export type ShownWish = z.infer<typeof wishSchema>;

const heldSchema = z.looseObject({ id: z.string(), limit: z.int(), wishes: z.array(wishSchema) });
const confirmedSchema = z.looseObject({ at: z.string(), wishes: z.array(wishSchema) });

export interface ShownWishes {
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
export function readShownWishes(data: Readonly<Record<string, string>> | undefined): ShownWishes {
  return {
    held: parsed(heldSchema, data?.['held']),
    confirmed: parsed(confirmedSchema, data?.['confirmed']),
  };
}

/** One wish a line, so that kubectl shows it as people can read it. */
function jsonOf({ wishes, ...rest }: { readonly wishes: readonly ShownWish[] }): string {
  const head = JSON.stringify(rest).slice(0, -1);
  return `${head},"wishes":[\n${wishes.map((wish) => JSON.stringify(wish)).join(',\n')}\n]}\n`;
}

/** The data of the ConfigMap; `null` takes away what is not there any more. */
export function dataOfWishes({ held, confirmed }: ShownWishes): Readonly<Record<string, string | null>> {
  return { held: held ? jsonOf(held) : null, confirmed: confirmed ? jsonOf(confirmed) : null };
}
