import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { loadKubeAccess } from '@rollcall/shared/kubernetes';
import { type BareClient, bareClient } from './bare-client.ts';
import { nowMs } from '../report/clock.ts';
import type { ReplayRequest } from './replay-plan.ts';

export interface Replay {
  readonly lastedMs: number;
  readonly requests: number;
  /** Answers other than 2xx, as `404 PATCH path`: there should be none. */
  readonly refused: readonly string[];
}

/**
 * Sends what was recorded as fast as the API server takes it: so many clusters at a time, and the writes of each one after
 * another. Connections are open before the clock starts.
 */
export async function replayWrites(
  plan: readonly (readonly ReplayRequest[])[],
  options: { stateDir: string; concurrency: number },
): Promise<Replay> {
  const { stateDir, concurrency } = options;
  const users = [...new Set(plan.flat().map(({ user }) => user))];
  const clients = new Map(users.map((user) => [user, clientOf(user, { stateDir, concurrency })]));
  const waiting = [...plan];
  const refused: string[] = [];
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      for (const { user, ...request } of next) {
        const status = (await clients.get(user)?.send(request)) ?? 0;
        if (status < 200 || status > 299) refused.push(`${status} ${request.method} ${request.path}`);
      }
    }
  }
  const lanes = Array.from({ length: concurrency }, (_, index) => index);
  try {
    for (const client of clients.values()) await Promise.all(lanes.map(() => client.send(hello)));
    const fromMs = nowMs();
    await Promise.all(lanes.map(lane));
    return { lastedMs: nowMs() - fromMs, requests: plan.flat().length, refused };
  } finally {
    for (const client of clients.values()) client.close();
  }
}

const hello = { method: 'GET', path: '/version', body: undefined, contentType: '' } as const;

/** The embedded hub keeps a kubeconfig of each service's user in its state directory. */
function clientOf(user: string, options: { stateDir: string; concurrency: number }): BareClient {
  const service = /:rollcall-([a-z-]+)$/.exec(user)?.[1];
  if (service === undefined) throw new RollcallError('UNEXPECTED', `"${user}" is no service of ours`);
  const path = join(options.stateDir, 'kubeconfigs', `${service}.kubeconfig`);
  return bareClient(loadKubeAccess({ path }), options.concurrency);
}
