import { setTimeout as delay } from 'node:timers/promises';
import { fullJitterMs } from '@rollcall/agent/back-off';
import { RollcallError } from '@rollcall/shared/errors';
import { formatDuration } from '@rollcall/shared/config';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import type { SinkMessage } from './signed-webhook.ts';

const answersWithinMs = 10_000;
const backOff = { firstMs: 1000, longestMs: 60_000 };
/** Of what is in the way as long as it is the same. */
const sayAgainAfterMs = 60_000;
/** What is wrong is this one message; another try would say the same. */
const aboutMessage = new Set([400, 413, 415, 422]);

type Outcome = 'taken' | 'refused' | 'stopped';

export interface Sink {
  /** Sends one message until it is taken, or refused for good. */
  deliver(messageAt: (nowMs: number) => SinkMessage, signal: AbortSignal): Promise<Outcome>;
}

/** @throws RollcallError USAGE */
export function parseSink(text: string): URL {
  const url = URL.parse(text.trim());
  if (url && (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '') return url;
  throw new RollcallError('USAGE', '--to is no address of a sink (https://HOST/PATH, or file:PATH with it)');
}

/** What the sink said to one try. @returns undefined: it has taken it */
async function tryOnce(
  url: URL,
  { body, headers }: SinkMessage,
  signal: AbortSignal,
): Promise<{ readonly why: string; readonly isFinal: boolean; readonly waitMs?: number } | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: { ...headers, 'user-agent': 'rollcall' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(answersWithinMs)]),
    });
    await answer.body?.cancel();
    if (answer.ok) return undefined;
    const seconds = Number(answer.headers.get('retry-after') ?? '');
    return {
      why: `it answers ${answer.status}`,
      isFinal: aboutMessage.has(answer.status),
      ...(seconds > 0 ? { waitMs: Math.min(seconds * 1000, backOff.longestMs) } : {}),
    };
  } catch (thrown) {
    const { cause } = thrown as { cause?: unknown };
    const error = cause instanceof Error ? cause : thrown;
    return { why: error instanceof Error ? error.message : String(error), isFinal: false };
  }
}

/** A sink of events over HTTP. Its address may be a secret, so only its host is ever said. */
export function openSink(url: URL): Sink {
  let awaySinceMs: number | undefined;
  let saidAtMs = -Infinity;

  function sayAway(why: string): void {
    awaySinceMs ??= performance.now();
    if (performance.now() - saidAtMs < sayAgainAfterMs) return;
    saidAtMs = performance.now();
    const since = performance.now() - awaySinceMs;
    say(
      printable(
        `${url.host} takes nothing${since < 1000 ? '' : ` for ${formatDuration(since)}`}: ${why}; trying on`,
      ),
    );
  }

  function sayBack(): void {
    if (awaySinceMs !== undefined)
      say(`${url.host} takes events again, after ${formatDuration(performance.now() - awaySinceMs)}`);
    awaySinceMs = undefined;
    saidAtMs = -Infinity;
  }

  return {
    async deliver(messageAt, signal) {
      for (let failures = 1; !signal.aborted; failures++) {
        const failed = await tryOnce(url, messageAt(Date.now()), signal);
        if (signal.aborted && failed) break;
        if (!failed) {
          sayBack();
          return 'taken';
        }
        if (failed.isFinal) {
          say(printable(`${url.host} refuses this event: ${failed.why}; going on with the next one`));
          return 'refused';
        }
        sayAway(failed.why);
        const waitMs = failed.waitMs ?? fullJitterMs(backOff, failures, Math.random());
        await delay(waitMs, undefined, { signal }).catch(() => undefined);
      }
      return 'stopped';
    },
  };
}
