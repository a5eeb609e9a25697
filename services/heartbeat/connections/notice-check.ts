import type { NatsConnection } from '@nats-io/transport-node';
import { type BusAddress, type BusCredentials, connectBus } from '@rollcall/shared/bus';
import { z } from 'zod';

/** The server tells of a connection within milliseconds (3 to 7, measured); a busy one gets time. */
const withinMs = 3000;

const noticeSchema = z.looseObject({
  server: z.looseObject({ id: z.string() }),
  client: z.looseObject({ id: z.int() }),
});

function placeOf(text: string): string | undefined {
  try {
    const { data } = noticeSchema.safeParse(JSON.parse(text));
    return data && `${data.server.id} ${data.client.id}`;
  } catch {
    return undefined;
  }
}

/**
 * Comes and goes like an agent, and waits for the notices of it: what agents are told of reaches us only over two accounts,
 * and if it does not, nothing else says so.
 * @param nc - hears the notices
 * @returns which notice did not come, or undefined
 * @throws RollcallError BUS_UNREACHABLE when it cannot connect, which says nothing about notices
 */
export async function checkNotices(
  nc: NatsConnection,
  probe: { address: BusAddress; user: BusCredentials },
): Promise<'connected' | 'disconnected' | undefined> {
  const heard = { connected: new Set<string>(), disconnected: new Set<string>() };
  let woken = Promise.withResolvers<void>();
  const kinds = ['connected', 'disconnected'] as const;
  const subscriptions = kinds.map((kind) =>
    nc.subscribe(`rollcall.sys.${kind}`, {
      callback: (error, message) => {
        const place = error ? undefined : placeOf(message.string());
        if (place === undefined) return;
        heard[kind].add(place);
        woken.resolve();
      },
    }),
  );
  async function comes(kind: (typeof kinds)[number], place: string): Promise<boolean> {
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), withinMs);
    try {
      while (!heard[kind].has(place)) {
        if ((await Promise.race([woken.promise, late.promise])) === 'late') return false;
        woken = Promise.withResolvers<void>();
      }
      return true;
    } finally {
      clearTimeout(timer);
    }
  }
  try {
    await nc.flush();
    const agent = await connectBus(probe.address, probe.user, 'notice-probe');
    const place = `${agent.info?.server_id} ${agent.info?.client_id}`;
    const isTold = await comes('connected', place);
    await agent.close();
    if (!isTold) return 'connected';
    return (await comes('disconnected', place)) ? undefined : 'disconnected';
  } finally {
    for (const subscription of subscriptions) subscription.unsubscribe();
  }
}
