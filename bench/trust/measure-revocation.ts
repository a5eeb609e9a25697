import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { createNkey } from '@rollcall/shared/trust';
import { startWorld } from '../../services/account-controller/tests/account-controller-world.ts';
import { nowMs } from '../report/clock.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';

/** From the append of `revoked` until the agent's connection is gone. */
export interface RevocationRow {
  /** Keys on the list before. */
  readonly live: number;
  readonly cuts: number;
  readonly cutMs: Spread;
  /** Until `cut` is told, that is until every server was seen to refuse the key. */
  readonly provenMs: Spread;
}

export interface RevocationResult {
  readonly few: RevocationRow;
  readonly many: RevocationRow;
}

const fewRevocations = 10;

export async function measureRevocation(
  { cuts, revocations }: { cuts: number; revocations: number },
  say: (message: string) => void,
): Promise<RevocationResult> {
  say(`${cuts} cuts while ${fewRevocations} keys are taken back`);
  const few = await measureCuts({ live: fewRevocations, cuts });
  say(`${cuts} cuts while ${revocations} keys are taken back`);
  return { few, many: await measureCuts({ live: revocations, cuts }) };
}

/** Few, so that the row waits for its cuts and not for the look after each filler's connections. */
const keysOfOneCluster = 100;

/**
 * Cuts on a real nats-server and by a real account-controller, one after the other. Client and account-controller share a process.
 * @param options.live - keys that are on the list before, and stay
 */
async function measureCuts(options: { live: number; cuts: number }): Promise<RevocationRow> {
  await using world = await startWorld();
  const { hub } = world;
  for (let at = 0; at < options.live; at += keysOfOneCluster) {
    const keys = Array.from({ length: Math.min(keysOfOneCluster, options.live - at) }, () =>
      createNkey('user'),
    );
    await world.say(
      'revoked',
      `filler-${at}`,
      keys.map(({ publicKey }) => publicKey),
    );
  }
  await using controller = await world.startController();
  const problem = controller.notReady();
  if (problem !== undefined) throw new RollcallError('CHILD_FAILED', problem);
  // What was taken back before is told first; the keys themselves were on the list before the account-controller was ready.
  for (let at = 0; at < options.live; at += keysOfOneCluster) await world.cut(`filler-${at}`);
  const cutMs: number[] = [];
  const provenMs: number[] = [];
  for (let index = 0; index < options.cuts; index++) {
    const name = `cut-${index}`;
    const credentials = hub.agentCredentials('member', name);
    const connection = await world.tryAs(credentials);
    if (typeof connection === 'string') throw new RollcallError('BUS_UNREACHABLE', connection);
    await world.say('approved', name);
    const gone = (connection satisfies NatsConnection).closed().then(nowMs);
    const fromMs = nowMs();
    await world.say('revoked', name, [credentials.publicKey]);
    cutMs.push((await gone) - fromMs);
    await world.cut(name);
    provenMs.push(nowMs() - fromMs);
  }
  return { live: options.live, cuts: options.cuts, cutMs: spreadOf(cutMs), provenMs: spreadOf(provenMs) };
}
