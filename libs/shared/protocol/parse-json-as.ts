import type { z } from 'zod';

/** @returns undefined for what is no JSON, or not of that shape */
export function parseJsonAs<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
): z.output<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
