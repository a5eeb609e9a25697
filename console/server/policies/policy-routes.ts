import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import type { FindingRow, PolicyRow, PolicyTrial, PolicyWrite, PolicyWritten, TrialRow } from '../../rows.ts';

/** What a person does with policies, by the code of the commands and with the rights of the person. */
export interface PolicyDesk {
  list(): Promise<readonly PolicyRow[]>;
  check(text: string): Promise<readonly FindingRow[]>;
  /** Judges past requests; writes nothing. */
  tryOut(trial: PolicyTrial, signal: AbortSignal): Promise<TrialRow>;
  write(policy: PolicyWrite): Promise<PolicyWritten>;
}

/** 64 rules of 4 kB. */
const mostTextBytes = 300_000;
const mostBodyBytes = 2 * mostTextBytes;
const text = z.string().max(mostTextBytes);
const checked = z.strictObject({ text });
const tried = z.strictObject({ text, days: z.int().min(1).max(365) });
const written = z.strictObject({ text, version: z.string().min(1).max(64).optional() });

async function bodyOf<Body>(context: Context, schema: z.ZodType<Body>): Promise<Body> {
  const body: unknown = await context.req.json().catch(() => undefined);
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  throw new RollcallError('USAGE', `nothing that this console knows: ${z.prettifyError(read.error)}`);
}

/**
 * @param signal - ends what is being tried
 * @param answerFailure - in the words of who refused
 */
export function policyRoutes(
  desk: PolicyDesk,
  signal: AbortSignal,
  answerFailure: (context: Context, thrown: unknown) => Response,
): Hono {
  const app = new Hono();
  app.use(
    bodyLimit({ maxSize: mostBodyBytes, onError: (context) => context.text('Payload Too Large', 413) }),
  );
  app.onError((thrown, context) => answerFailure(context, thrown));
  app.get('/', async (context) => context.json(await desk.list()));
  app.post('/check', async (context) =>
    context.json(await desk.check((await bodyOf(context, checked)).text)),
  );
  // One at a time: it takes every core, and only the last question has somebody who waits.
  let trying = new AbortController();
  app.post('/try', async (context) => {
    const trial = await bodyOf(context, tried);
    trying.abort();
    trying = new AbortController();
    const { signal: overtaken } = trying;
    try {
      return context.json(await desk.tryOut(trial, AbortSignal.any([signal, overtaken])));
    } catch (thrown) {
      if (!overtaken.aborted) throw thrown;
      throw new RollcallError('USAGE', 'another trial was asked for', { cause: thrown });
    }
  });
  app.post('/write', async (context) => {
    const policy = await bodyOf(context, written);
    return context.json(await desk.write(policy));
  });
  return app;
}
