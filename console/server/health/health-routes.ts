import { Hono } from 'hono';
import { z } from 'zod';
import type { CheckRow, DeadMending, DeadRow, OperationsRow, StatusRow } from '../../rows/index.ts';
import { limitBody, readBody } from '../read-body.ts';
import { sharedReading } from '../one-read-at-a-time.ts';

/** What waits in the hub itself, and how it is, by the code of the commands and with the rights of the person. */
export interface HealthDesk {
  status(): Promise<StatusRow>;
  doctor(): Promise<readonly CheckRow[]>;
  operations(): Promise<OperationsRow>;
  /** @returns what came of it */
  confirm(id: string): Promise<string>;
  dead(): Promise<readonly DeadRow[]>;
  /** @returns what came of it */
  mend(what: DeadMending): Promise<string>;
}

const confirming = z.strictObject({ id: z.string().min(1).max(64) });
const mending = z.strictObject({
  verb: z.enum(['retry', 'drop']),
  ids: z
    .array(z.string().regex(/^\d{1,15}$/))
    .min(1)
    .max(100),
});

/** Each reading is one for all pages that ask while it goes on. */
export function healthRoutes(desk: HealthDesk): Hono {
  const app = new Hono();
  const readings = {
    '/status': sharedReading(desk.status),
    '/doctor': sharedReading(desk.doctor),
    '/operations': sharedReading(desk.operations),
    '/dead': sharedReading(desk.dead),
  };
  for (const [path, read] of Object.entries<() => Promise<object>>(readings))
    app.get(path, async (context) => context.json(await read()));
  app.use(limitBody(4096));
  app.post('/confirm', async (context) =>
    context.json({ words: await desk.confirm((await readBody(context, confirming)).id) }),
  );
  app.post('/mend', async (context) =>
    context.json({ words: await desk.mend(await readBody(context, mending)) }),
  );
  return app;
}
