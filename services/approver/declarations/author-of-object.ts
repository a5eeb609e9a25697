import type { Cause } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';

/** Nobody says who it was: a delete carries no name, and below Kubernetes 1.36 nothing else does. */
export const unknownPerson: Cause = { person: 'unknown' };

/** Who changed the object last, as the API server filled it in; the admission policies let nobody write another's name (rollcall-authors). */
export function declaredBy(object: Pick<KubeObject, 'metadata'> | undefined): Cause {
  const person = object?.metadata.annotations?.[annotations.changedBy];
  return person ? { person } : unknownPerson;
}
