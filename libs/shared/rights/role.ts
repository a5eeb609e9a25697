/**
 * Accounts of one role each. The server checks the subject of a message and never its reply, and publishes answers itself; so
 * whoever may ask anything in an account can have the answer put on any subject of that account. What a role reaches by that
 * is its own account, and what it imports there is what it may ask anyway (ADR 1).
 */
export const roleAccounts = [
  'REGISTRAR',
  'APPROVER',
  'RBAC-PROVISIONER',
  'HEARTBEAT',
  'PROJECTOR',
  'ACCOUNT-CONTROLLER',
  'AGENT-HOST',
  'MEMBER-GATEWAY',
  'OPS',
  'INSPECTOR',
  'BACKUP',
  'MEND',
  'RESTORE',
  'ARCHIVE',
  'CLAIMS',
  'SIMULATOR',
] as const;
export type RoleAccount = (typeof roleAccounts)[number];
/** HUB has the streams, and no user but `setup`; SYS has none. */
export type AccountName = 'SYS' | 'AUTH' | 'AGENTS' | 'HUB' | RoleAccount;

/**
 * A row of the one table of who may publish and subscribe what (`nats-roles.ts`, principle 8). Accounts with their exports and imports,
 * JWT templates, documentation and the test matrices are made from it. Allow lists only: deny rules have been bypassed before
 * (nats-server notes 2026-17, -18).
 */
export interface Role {
  readonly account: Exclude<AccountName, 'SYS'>;
  readonly description: string;
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** May answer whatever reached it with a reply subject, once, within the bound. For the callout, which the server asks. */
  readonly mayRespond?: boolean;
}
