import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { handleRequests, type RequestServices } from './handle-requests.ts';

test('an agent that flooded is heard again some seconds later, also where the clock was a year ahead meanwhile', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const rightMs = Date.now();
  const outcomes: unknown[] = [];
  const services = {
    settings: { hubId: 'hub' },
    floods: { found: () => undefined, isUnheard: () => false },
    logger: { debug: () => undefined },
    metrics: { count: (_name: string, { outcome }: { outcome: string }) => outcomes.push(outcome) },
  } as unknown as RequestServices;
  let hear = (_error: undefined, _message: Msg): void => undefined;
  const hearing = {
    subscribe: (_subject: string, { callback }: { callback: typeof hear }) => void (hear = callback),
  } as unknown as NatsConnection;
  handleRequests(hearing, services);
  const ask = () => hear(undefined, { subject: 'rollcall.request.U.facts', data: new Uint8Array() } as Msg);
  vi.setSystemTime(rightMs + 365 * 86_400_000);
  for (let each = 0; each < 1000; each++) ask();
  expect(outcomes.at(-1)).toBe('ignored');
  vi.setSystemTime(rightMs);
  vi.advanceTimersByTime(20_000);
  ask();
  expect(outcomes.at(-1)).not.toBe('ignored');
});
