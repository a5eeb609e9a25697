import { RollcallError } from '@rollcall/shared/errors';
import type { StoredEvent, TokenUses } from '@rollcall/shared/events';

const tokenUsedUp = 'token-used-up';

/** What people are told of most often, each as types of events. */
const readyFilters: Readonly<Record<string, readonly string[]>> = {
  unreachable: ['cluster.unreachable', 'cluster.member-down', 'cluster.flapping', 'hub.outage'],
  back: ['cluster.ready', 'hub.outage-ended'],
  held: ['cluster.held'],
  'key-changed': ['cluster.rotated', 'cluster.key-shared', 'cluster.revoked'],
  out: ['cluster.denied', 'cluster.banned', 'cluster.left'],
  'bulk-held': ['hub.bulk-held'],
  [tokenUsedUp]: ['token.used'],
};

/** @throws RollcallError USAGE */
export function typesOf(names: readonly string[]): string[] {
  return names
    .flatMap((text) => text.split(','))
    .flatMap((name) => {
      const types = readyFilters[name];
      if (types) return types;
      throw new RollcallError('USAGE', `--only "${name}" is none of ${Object.keys(readyFilters).join(', ')}`);
    });
}

/**
 * Whether of uses of tokens only the last one is meant. It is no event of its own: how often a token may be used stands in what was
 * declared of it.
 */
export function onlyLastUses({
  only = [],
  type = [],
}: {
  only?: readonly string[];
  type?: readonly string[];
}): boolean {
  const types = type.flatMap((text) => text.split(','));
  const filters = only.flatMap((text) => text.split(','));
  return filters.includes(tokenUsedUp) && !types.some((one) => one === 'used' || one === 'token.used');
}

/**
 * Whether this use of a token was the last that it has.
 * @param allowed - as it was declared
 */
export const isLastUse = (
  { section }: Pick<StoredEvent, 'section'>,
  allowed: number | 'unlimited' | undefined,
): boolean => typeof allowed === 'number' && ((section as Partial<TokenUses>).used ?? 0) >= allowed;
