import { expect, test } from 'vitest';
import type { StoredEvent, TokenDeclaration } from '@rollcall/shared/events';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { isOfFormerEpoch } from './token-epoch.ts';

const hubEpoch = { epoch: 2, restoredAtMs: Date.parse('2026-11-21T12:00:00Z'), spent: [] };
const before = '2026-11-21T11:59:59Z';
const later = '2026-11-21T12:00:01Z';

type Token = Pick<ClusterRegistrationToken, 'metadata' | 'status'>;

interface Case {
  readonly name: string;
  readonly created?: string;
  readonly annotation?: string;
  readonly shownEpoch?: number;
  /** Epoch of the approver's last word. */
  readonly said?: number;
  readonly voidSinceEpoch?: number;
  readonly want: boolean;
}

test.each<Case>([
  { name: 'declared before the restore', said: 1, want: true },
  { name: 'declared before, and renewed', said: 1, annotation: '2', want: false },
  { name: 'renewed in an epoch before this one', said: 1, annotation: '1', want: true },
  { name: 'marked for an epoch that is yet to come', said: 1, annotation: '3', want: true },
  { name: 'found void in this epoch', said: 2, voidSinceEpoch: 2, want: true },
  { name: 'made in this epoch', created: later, want: false },
  { name: 'made in this hubEpoch, and declared', created: later, said: 2, want: false },
  { name: 'made after the backup and before the restore', created: before, want: true },
  { name: 'shown in an epoch that is lost', created: later, shownEpoch: 1, want: true },
  { name: 'brought back by the restore', created: later, annotation: '1', want: true },
])(
  'a token that was $name → void: $want',
  ({ created = before, annotation, shownEpoch, said, voidSinceEpoch, want }) => {
    const object: object = {
      metadata: {
        creationTimestamp: created,
        ...(annotation === undefined ? {} : { annotations: { 'rollcall.dev/epoch': annotation } }),
      },
      ...(shownEpoch === undefined ? {} : { status: { observed: { epoch: shownEpoch, sequence: 9 } } }),
    };
    const record = {
      declaration: { voidSinceEpoch } as unknown as TokenDeclaration,
      lastOf: said === undefined ? {} : { approver: { epoch: said } as StoredEvent },
    };
    expect(isOfFormerEpoch(object as Token, record, hubEpoch)).toBe(want);
    expect(isOfFormerEpoch(object as Token, record, undefined)).toBe(false);
  },
);
