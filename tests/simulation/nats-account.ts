import { agentsAccountClaims, type HubKeys, roleAccounts } from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt } from '@rollcall/shared/trust';
import { nkeyFromRawSeed } from '../../libs/shared/trust/nkey.ts';
import type { Connection, SystemAccount } from '../../services/account-controller/system-account.ts';
import type { Revocations } from '../../services/account-controller/revocation-list.ts';
import type { Replica } from './replica.ts';
import { RollcallError } from '@rollcall/shared/errors';
import type { World } from './world.ts';

const key = (role: 'account' | 'operator' | 'user', number: number) =>
  nkeyFromRawSeed(role, new Uint8Array(32).fill(number));

/** Keys that every seed has; made once, because they are the same in each. */
export interface HubSecrets {
  readonly operator: ReturnType<typeof key>;
  readonly answer: ReturnType<typeof key>;
  readonly signers: {
    readonly token: ReturnType<typeof key>;
    readonly returning: ReturnType<typeof key>;
    readonly waiting: ReturnType<typeof key>;
    readonly member: ReturnType<typeof key>;
  };
  readonly keys: HubKeys;
  readonly firstClaims: string;
}
let made: HubSecrets | undefined;

export function hubSecrets(): HubSecrets {
  if (made) return made;
  const operator = key('operator', 1);
  const signers = {
    token: key('account', 2),
    returning: key('account', 3),
    waiting: key('account', 4),
    member: key('account', 5),
  };
  const accounts = [6, 7, 8, 9, 10, 12].map((number) => key('account', number).publicKey);
  const [sys = '', auth = '', agents = '', hub = '', hubSigner = '', authSigner = ''] = accounts;
  const roles = roleAccounts.map((name, index) => [name, key('account', 20 + index).publicKey]);
  const keys: HubKeys = {
    sys,
    auth,
    agents,
    hub,
    hubSigner,
    roles: Object.fromEntries(roles) as HubKeys['roles'],
    authSigner,
    agentSigners: {
      token: signers.token.publicKey,
      returning: signers.returning.publicKey,
      waiting: signers.waiting.publicKey,
      member: signers.member.publicKey,
    },
    calloutUser: key('user', 13).publicKey,
    calloutXkey: 'XCALLOUT',
  };
  const nats = agentsAccountClaims(keys, {});
  const firstClaims = encodeJwt({ subject: agents, name: 'AGENTS', nowMs: 0, nats }, operator);
  made = { operator, answer: key('account', 14), signers, keys, firstClaims };
  return made;
}

/** The account AGENTS in the NATS server: what is refused, and who is connected. */
export class NatsAccount {
  #claims = hubSecrets().firstClaims;
  revocations: Revocations = {};
  /** Open connections by key. */
  readonly connections = new Map<string, { cid: number; end(): void }>();

  get claims(): string {
    return this.#claims;
  }

  /** Takes the newer of two, by the second in `iat`, and of the same second the one that comes later; connections of keys that are refused from now on end. */
  push(jwt: string): void {
    const [before, after] = [decodeJwt(this.#claims), decodeJwt(jwt)];
    if (!before || !after || after.iat < before.iat) return;
    this.#claims = jwt;
    this.revocations = (after.nats['revocations'] ?? {}) as Revocations;
  }

  /** Whether credentials of that second are refused. */
  refuses(publicKey: string, issuedAtS: number): boolean {
    const until = this.revocations[publicKey];
    return until !== undefined && issuedAtS <= until;
  }
}

function lost(): RollcallError {
  return new RollcallError('CLAIMS_NOT_APPLIED', 'the NATS server did not answer as expected');
}

export function openSystemAccount(
  { account, scheduler, random, faults }: World,
  replica: Replica,
): SystemAccount {
  async function ask<Result>(act: () => Result): Promise<Result> {
    await scheduler.wait(random.next() * 2, replica.life);
    await replica.step();
    if (faults.strikes('trust.fails')) throw lost();
    const result = act();
    await scheduler.wait(random.next() * 2, replica.life);
    await replica.step();
    if (faults.strikes('trust.answer-lost')) throw lost();
    return result;
  }
  const connectionsOf = (user: string): Connection[] => {
    const open = account.connections.get(user);
    return open ? [{ serverId: 'one', cid: open.cid }] : [];
  };
  return {
    lookUp: () => ask(() => account.claims),
    push: (jwt) => ask(() => account.push(jwt)),
    applied: () => ask(() => [{ revocations: account.revocations, jwt: account.claims }]),
    connectionsOfEach: (_account, users) =>
      ask(
        () =>
          new Map(
            users.map((user) => [user, connectionsOf(user)] as const).filter(([, all]) => all.length > 0),
          ),
      ),
    // No agent here floods; tests/attacks/exhaustion-cut.test.ts has those that do.
    endConnectionsOf: () => Promise.resolve([]),
    kick: ({ cid }) =>
      ask(() => {
        for (const connection of account.connections.values()) if (connection.cid === cid) connection.end();
      }),
  };
}
