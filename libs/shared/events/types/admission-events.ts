import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

const unprovenSchema = z.looseObject({
  /** Plural of the kind, and `namespace/name` or `name`. */
  object: z.string(),
  /** What stands in it and does not count, such as `access:Namespace`. */
  word: z.string(),
});
export type UnprovenWord = z.infer<typeof unprovenSchema>;

/** Whether the admission policies around people hold, and what was written while they may not have held. Of the one aggregate `admission`. */
const admissionSchema = z.looseObject({
  inPlace: z.boolean(),
  /** Of the very set of policies that was last seen to hold: another one once any of them was written. */
  version: z.string(),
  /** Uid of one of our kinds in that Kubernetes: another one where Kubernetes was lost, or is another one. */
  kindUid: z.string(),
  /** Written by nobody knows whom: it does not count until somebody with the right writes it again. At most 500. */
  unproven: z.array(unprovenSchema).default([]),
  /** So many more were found and have no room: who begins to hear people then takes the whole list itself. */
  unlisted: z.int().min(1).optional(),
});
export type Admission = z.infer<typeof admissionSchema>;

export const admissionChanged = defineEvent({
  kind: 'hub',
  writer: 'approver',
  section: admissionSchema,
  type: 'admission-changed',
  description:
    'The admission policies around people were seen not to hold, or to hold again. Of aggregate `admission`. While they do not, nothing that people write is acted on; what was written meanwhile is listed in `unproven` and does not count until it is written again. Repeated when that list gets shorter.',
});
