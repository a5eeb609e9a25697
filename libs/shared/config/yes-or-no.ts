import { z } from 'zod';

/** A switch: `true` or `false`, as text where it comes from a flag or the environment. */
export const yesOrNo = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
