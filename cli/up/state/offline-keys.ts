import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentRole } from '@rollcall/shared/rights';
import { readState } from '../private-files.ts';

/** Seeds that nothing reads which runs (docs/security/keys.md). */
export interface OfflineKeys {
  readonly operator: string;
  readonly operatorSigners: readonly string[];
  readonly accounts: Readonly<Record<'sys' | 'auth' | 'agents' | 'hub', string>>;
  readonly signers: Readonly<Record<'auth' | 'hub', string>>;
  /** Seed of the next `signers.hub`, while a rotation makes it known. */
  readonly nextHubSigner?: string | undefined;
  /** Seeds of a generation that is announced and does not sign yet. */
  readonly nextAgentSigners?: Readonly<Record<AgentRole, string>> | undefined;
}

/**
 * Keys are only read where something has to be signed: they may lie elsewhere in between.
 * @param why - what they are needed for, where people would not know
 * @throws RollcallError KEYS_OFFLINE, STATE_INVALID
 */
export function readOfflineKeys(stateDir: string, why?: string): OfflineKeys {
  const path = join(stateDir, 'offline', 'keys.json');
  const keys = readState<OfflineKeys>(path);
  if (keys) return keys;
  const missing = `there is no file "${path}"`;
  throw new RollcallError('KEYS_OFFLINE', why === undefined ? missing : `${why}, and ${missing}`);
}
