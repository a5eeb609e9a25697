import type { TokenFlags, TokenRevoking, TokenRow } from '../../../rows/index.ts';
import { shellWord } from '../cluster/shell-word.ts';

/** Whether another cluster may ask with it now. */
export function isUsable({ isReady, used, uses, expires }: TokenRow, nowMs: number): boolean {
  const isOver = expires !== undefined && expires !== 'never' && Date.parse(expires) <= nowMs;
  return isReady && !isOver && (uses === 'unlimited' || used < uses);
}

/** How it is, in a word or two. */
export function stateOfToken(row: TokenRow, nowMs: number): string {
  if (isUsable(row, nowMs)) return 'may be used';
  if (row.uses !== 'unlimited' && row.used >= row.uses) return 'used up';
  return row.isReady ? 'ended' : row.reason;
}

/** For whom it is, beside how often and how long. */
export function limitsOf({ clusterName, clientId, clusterSet, labels, allowLabels }: TokenRow): string {
  const given = Object.entries(labels ?? {}).map((pair) => pair.join('='));
  return [
    clusterName ?? 'any cluster',
    clientId && `with client id ${clientId}`,
    clusterSet && `into set ${clusterSet}`,
    given.length > 0 && `with labels ${given.join(', ')}`,
    allowLabels && `which may ask for ${allowLabels.join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ');
}

const flagNames = {
  name: '--name',
  uses: '--uses',
  ttl: '--ttl',
  clusterName: '--cluster-name',
  clusterSet: '--cluster-set',
  labels: '--labels',
  allowLabels: '--allow-labels',
  clientId: '--client-id',
  description: '--description',
} as const satisfies Record<keyof TokenFlags, string>;

/** The same in a terminal. */
export function createLine(flags: TokenFlags): string {
  const given = Object.entries(flagNames).flatMap(([key, flag]) => {
    const value = flags[key as keyof TokenFlags];
    return value === undefined ? [] : [flag, value];
  });
  return ['rollcall', 'token', 'create', ...given].map(shellWord).join(' ');
}

export const revokeLine = ({ namespace, name }: TokenRevoking): string =>
  ['rollcall', 'token', 'delete', name, '-n', namespace].map(shellWord).join(' ');

const ofThisMachine = /^(?:wss?:\/\/)?(?:127\.|localhost(?::|$)|\[::1\])/;
/** Whether the hub that it names is reached only on the machine that it runs on. */
export function isForOneMachine(command: string): boolean {
  const [, addresses = ''] = /(?:^| )rollcall register '?([^ ']+)/.exec(command) ?? [];
  return addresses.split(',').every((address) => ofThisMachine.test(address));
}

/** A command with a flag a line, for the eye and for a shell alike; one with quotes stays as it is. */
export const inLines = (command: string): string =>
  /['"\\]/.test(command) ? command : command.replaceAll(/ (?=--[a-z])/g, ' \\\n  ');
