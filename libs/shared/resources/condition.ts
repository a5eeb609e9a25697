import { z } from 'zod';
import { reason, text } from './text.ts';

/** One condition as in the Kubernetes API conventions. */
export const condition = z.object({
  type: text(64).describe('What this is about, for example Ready.'),
  status: z
    .enum(['True', 'False', 'Unknown'])
    .describe('Whether it holds. Unknown: not known yet, or not any more.'),
  reason: reason().describe('One CamelCase word that says why; programs may compare it.'),
  message: text(4096).default('').describe('For people: what happened and what to do.'),
  lastTransitionTime: z.iso.datetime().describe('Hub time of the last change of status.'),
  observedGeneration: z.int().min(0).optional().describe('metadata.generation that this was judged from.'),
});
export type Condition = z.infer<typeof condition>;

/** The list of conditions of a status; the API server merges it by type. */
export const conditions = () =>
  z
    .array(condition)
    .max(16)
    .meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      description: 'What is known about this object, one entry a question.',
    });
