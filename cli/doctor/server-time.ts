import type { NatsConnection } from '@nats-io/transport-node';
import { hubDomain } from '@rollcall/shared/rights';

/** The clock of the NATS server: it stands in every answer about a stream. @returns undefined where it does not answer */
export async function serverTimeMs(nc: NatsConnection): Promise<number | undefined> {
  try {
    const answer = await nc.request(`$JS.${hubDomain}.API.STREAM.INFO.EVENTS`, undefined, { timeout: 3000 });
    const { ts } = answer.json<{ ts?: string }>();
    const atMs = Date.parse(ts ?? '');
    return Number.isNaN(atMs) ? undefined : atMs;
  } catch {
    return undefined;
  }
}
