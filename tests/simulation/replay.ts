import type { StoredEvent } from '@rollcall/shared/events';
export function replayDifferences(_events: readonly StoredEvent[]): string[] {
  return [];
}
