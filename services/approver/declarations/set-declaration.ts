import { isDeepStrictEqual } from 'node:util';
import {
  type AggregateRecord,
  type Cause,
  draft,
  type EventDraft,
  type SetDeclaration,
  setDeclaration,
  setDeclared,
  setWithdrawn,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ManagedClusterSet } from '@rollcall/shared/resources';
import { unknownPerson } from './author-of-object.ts';

export type SetObject = StoredObject<ManagedClusterSet>;

export function readSet({ metadata, spec }: SetObject): SetDeclaration {
  return {
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 1,
    selectorType: spec.selector.type,
    withdrawn: false,
  };
}

/** Declares a set that is new or different, and withdraws one that is gone. */
export function decideSet(context: {
  record: AggregateRecord;
  wanted: SetDeclaration | undefined;
  /** Who wrote it. */
  by?: Cause;
}): EventDraft[] {
  const { record, wanted, by = unknownPerson } = context;
  const before = setDeclaration(record);
  if (wanted) {
    if (isDeepStrictEqual(wanted, before)) return [];
    const message = `set "${wanted.name}" was ${before ? 'changed' : 'made'}`;
    return [draft(setDeclared, record, { by, reason: 'SetDeclared', message, section: wanted })];
  }
  if (!before || before.withdrawn) return [];
  const message = `set "${before.name}" was deleted`;
  return [
    draft(setWithdrawn, record, {
      by: unknownPerson,
      reason: 'SetDeleted',
      message,
      section: { ...before, withdrawn: true },
    }),
  ];
}
