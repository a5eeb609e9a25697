import { Hono, type Context } from 'hono';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Action, ClusterPage, EventsPart, Refusal } from '../rows/index.ts';
import { type HealthDesk, healthRoutes } from './health/health-routes.ts';
import { latestOnly } from './latest-only.ts';
import type { LiveSnapshot } from './live/live-snapshot.ts';
import { liveStream } from './live/live-stream.ts';
import type { PageFile } from './page-files.ts';
import { pastStream, type ReadPast } from './past/past-stream.ts';
import { readMoment } from './past/read-moment.ts';
import { type PolicyDesk, policyRoutes } from './policies/policy-routes.ts';
import { actionSchema } from './action-schema.ts';
import { limitBody, readBody } from './read-body.ts';
import { type TokenDesk, tokenRoutes } from './tokens/token-routes.ts';

/** Which of two meanings a word has, and whether as it was. */
export interface DescribeHow {
  readonly isId: boolean;
  readonly atMs: number | undefined;
}

export interface ConsoleApp {
  readonly files: ReadonlyMap<string, PageFile>;
  readonly snapshot: LiveSnapshot;
  /** Ends the streams of all pages. */
  readonly signal: AbortSignal;
  describe(target: string, how: DescribeHow): Promise<ClusterPage>;
  readPast: ReadPast;
  readonly policies: PolicyDesk;
  readonly tokens: TokenDesk;
  readonly health: HealthDesk;
  readEvent(sequence: number): Promise<object | undefined>;
  /** @param from - a moment, or a place in the history */
  readEvents(from: { readonly atMs: number } | { readonly sequence: number }): Promise<EventsPart>;
  /** Does what the command of that name does, as the person of the kubeconfig. @returns what came of it */
  act(action: Action): Promise<string>;
}

const mostActionBytes = 4096;
/** Routes of the page; the page itself finds out what they show. */
const pageRoutes = [
  '/',
  '/clusters/*',
  '/requests',
  '/policies',
  '/policies/*',
  '/tokens',
  '/events',
  '/hub',
];

/** Codes that say that the person, not the console, has to do something else. */
const statusOf: Readonly<Partial<Record<RollcallError['code'], 400 | 403 | 404 | 409 | 504>>> = {
  USAGE: 400,
  POLICY_INVALID: 400,
  ACCEPT_FORBIDDEN: 403,
  OPERATION_FORBIDDEN: 403,
  NOT_FOUND: 404,
  DECISION_CHANGED: 409,
  BULK_HELD: 409,
  REQUEST_FAILED: 409,
  TOKEN_REFUSED: 409,
  RETRY_IN_VAIN: 409,
  HUB_WRONG: 409,
  DEADLINE_EXCEEDED: 504,
};

/** Of the API server: what it refused was not done. */
const refusals = [400, 403, 404, 409, 422] as const;

function answerFailure(context: Context, thrown: unknown): Response {
  const error = toRollcallError(thrown);
  const { code, message, hint } = error;
  const status = 'status' in error ? error.status : undefined;
  const ofServer = refusals.find((known) => known === status);
  return context.json<Refusal>({ code, message, hint }, ofServer ?? statusOf[code] ?? 502);
}

/**
 * Answers the requests of one person.
 * @param admit - puts before everything else who is answered at all
 */
export function createConsoleApp(console: ConsoleApp, admit: (app: Hono) => void): Hono {
  const { files, snapshot } = console;
  const app = new Hono();
  admit(app);

  app.onError((thrown, context) => answerFailure(context, thrown));

  // Hono answers HEAD by what GET does: here that would leave a stream that nobody reads.
  for (const path of ['/api/live', '/api/past'])
    app.use(path, async (context, next) =>
      context.req.method === 'HEAD' ? context.body(null, 405, { allow: 'GET' }) : next(),
    );

  app.get('/api/live', (context) => {
    const stream = liveStream(snapshot, context.req.header('last-event-id'), console.signal);
    return context.body(stream, 200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'content-encoding': 'gzip',
    });
  });
  app.get('/api/clusters/:name', async (context) => {
    const how = {
      isId: context.req.query('id') === 'true',
      atMs: readMoment(context.req.query('at'), Date.now()),
    };
    return context.json(await console.describe(context.req.param('name'), how));
  });
  const latestPast = latestOnly(console.signal);
  app.get('/api/past', (context) => {
    const atMs = readMoment(context.req.query('at') ?? '', Date.now()) ?? 0;
    const stream = pastStream(console.readPast, { atMs, latest: latestPast });
    return context.body(stream, 200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
  });
  app.route('/api/policies', policyRoutes(console.policies, console.signal));
  app.route('/api/tokens', tokenRoutes(console.tokens));
  app.route('/api/hub', healthRoutes(console.health));
  app.get('/api/events', async (context) => {
    const next = context.req.query('next') ?? '';
    const from = /^\d{1,15}$/.test(next)
      ? { sequence: Number(next) }
      : { atMs: readMoment(context.req.query('from') ?? '', Date.now()) ?? 0 };
    return context.json(await console.readEvents(from));
  });
  app.get('/api/events/:sequence{[0-9]{1,15}}', async (context) => {
    const event = await console.readEvent(Number(context.req.param('sequence')));
    if (event === undefined) throw new RollcallError('NOT_FOUND', 'the history has no such event any more');
    return context.json(event);
  });
  app.post('/api/actions', limitBody(mostActionBytes), async (context) =>
    context.json({ words: await console.act(await readBody(context, actionSchema)) }),
  );

  const sendFile = (path: string) => (context: Context) => {
    const file = files.get(path);
    if (!file) return context.notFound();
    return context.body(file.gzip, 200, { 'content-type': file.type, 'content-encoding': 'gzip' });
  };
  for (const route of pageRoutes) app.get(route, sendFile('/index.html'));
  for (const path of files.keys()) app.get(path, sendFile(path));
  return app;
}
