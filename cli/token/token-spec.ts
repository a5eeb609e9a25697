import type { TokenFlags } from '@rollcall/console';
import { parseDurationMs } from '@rollcall/shared/config';
import { RollcallError } from '@rollcall/shared/errors';
import { parseLabels } from '../labels-flag.ts';

/** What a person says about a token that is to be made; its name is each command's own. */
export type TokenSpecFlags = Omit<TokenFlags, 'name'>;

/** `spec` of a ClusterRegistrationToken, but for who makes its key. */
export interface TokenTerms {
  readonly ttl: string;
  readonly uses: number | 'unlimited';
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly allowLabels?: readonly string[];
  readonly clusterSet?: string;
  readonly description?: string;
}

function parseUses(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new RollcallError(
    'USAGE',
    `--uses "${text}" is neither a number of 1 or more nor the word unlimited`,
  );
}

/** `0` is for ever, which is for the hub to allow; so is how long is too long. */
function checkTtl(text: string): void {
  if (text === '0') return;
  const ttlMs = parseDurationMs(text);
  if (ttlMs === undefined) {
    throw new RollcallError('USAGE', `--ttl "${text}" is no duration; write for example 30m, 24h or 7d`);
  }
  if (ttlMs === 0) throw new RollcallError('USAGE', `--ttl "${text}" is over at once; write for example 24h`);
}

function listed(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** @throws RollcallError USAGE */
export function tokenTerms(flags: TokenSpecFlags): TokenTerms {
  const { ttl, clusterName, clientId, labels, allowLabels, clusterSet, description } = flags;
  checkTtl(ttl);
  return {
    ttl,
    uses: parseUses(flags.uses),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(clientId === undefined ? {} : { clientId }),
    ...(labels === undefined ? {} : { labels: parseLabels(labels) }),
    ...(allowLabels === undefined ? {} : { allowLabels: listed(allowLabels) }),
    ...(clusterSet === undefined ? {} : { clusterSet }),
    ...(description === undefined ? {} : { description }),
  };
}

/** How many clusters, called what, until when: `one cluster named "edge-1", until 2026-11-21T13:00:00Z`. */
export function termsText({ uses, ttl, clusterName, clientId }: TokenTerms, expires?: string): string {
  const times =
    uses === 1 ? 'one cluster' : uses === 'unlimited' ? 'any number of clusters' : `${uses} clusters`;
  const named = clusterName === undefined ? '' : ` named "${clusterName}"`;
  const withId = clientId === undefined ? '' : ` with client id "${clientId}"`;
  const until = expires === undefined ? `for ${ttl}` : expires === 'never' ? 'for ever' : `until ${expires}`;
  return `${times}${named}${withId}, ${until}`;
}
