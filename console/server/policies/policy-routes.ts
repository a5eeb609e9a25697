import { Hono } from 'hono';
import { z } from 'zod';
import type {
  FindingRow,
  PolicyRow,
  PolicyTrial,
  PolicyWrite,
  PolicyWritten,
  TrialRow,
} from '../../rows/index.ts';
import { latestOnly } from '../latest-only.ts';
import { limitBody, readBody } from '../read-body.ts';

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

/** @param signal - ends what is being tried */
export function policyRoutes(desk: PolicyDesk, signal: AbortSignal): Hono {
  const app = new Hono();
  app.use(limitBody(mostBodyBytes));
  app.get('/', async (context) => context.json(await desk.list()));
  // Each of them may take every core.
  const [latestCheck, latestTrial] = [latestOnly(signal), latestOnly(signal)];
  app.post('/check', async (context) => {
    const { text: asked } = await readBody(context, checked);
    return context.json(await latestCheck(() => desk.check(asked)));
  });
  app.post('/try', async (context) => {
    const trial = await readBody(context, tried);
    return context.json(await latestTrial((overtaken) => desk.tryOut(trial, overtaken)));
  });
  app.post('/write', async (context) => {
    const policy = await readBody(context, written);
    return context.json(await desk.write(policy));
  });
  return app;
}
