import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Action, ClusterPage, Refusal } from '../rows.ts';
import type { LiveSnapshot } from './live/live-snapshot.ts';
import { liveStream } from './live/live-stream.ts';
import type { PageFile } from './page-files.ts';
import { pastStream, type ReadPast } from './past/past-stream.ts';
import { readMoment } from './past/read-moment.ts';
import { type PolicyDesk, policyRoutes } from './policies/policy-routes.ts';
import { readAction } from './read-action.ts';

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
  readEvent(sequence: number): Promise<object | undefined>;
  /** Does what the command of that name does, as the person of the kubeconfig. @returns what came of it */
  act(action: Action): Promise<string>;
}

const mostActionBytes = 4096;
/** Routes of the page; the page itself finds out what they show. */
const pageRoutes = ['/', '/clusters/*', '/requests', '/policies', '/policies/*', '/events'];

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
    try {
      const how = {
        isId: context.req.query('id') === 'true',
        atMs: readMoment(context.req.query('at'), Date.now()),
      };
      return context.json(await console.describe(context.req.param('name'), how));
    } catch (thrown) {
      return answerFailure(context, thrown);
    }
  });
  // One at a time: whoever turns to another moment waits for no other.
  let reading = new AbortController();
  app.get('/api/past', (context) => {
    try {
      const atMs = readMoment(context.req.query('at') ?? '', Date.now()) ?? 0;
      reading.abort();
      reading = new AbortController();
      const signal = AbortSignal.any([console.signal, reading.signal]);
      const stream = pastStream(console.readPast, { atMs, signal });
      return context.body(stream, 200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
    } catch (thrown) {
      return answerFailure(context, thrown);
    }
  });
  app.route('/api/policies', policyRoutes(console.policies, console.signal, answerFailure));
  app.get('/api/events/:sequence{[0-9]{1,15}}', async (context) => {
    try {
      const event = await console.readEvent(Number(context.req.param('sequence')));
      if (event === undefined) throw new RollcallError('NOT_FOUND', 'the history has no such event any more');
      return context.json(event);
    } catch (thrown) {
      return answerFailure(context, thrown);
    }
  });
  app.post('/api/actions', bodyLimit({ maxSize: mostActionBytes }), async (context) => {
    try {
      const body: unknown = await context.req.json().catch(() => undefined);
      return context.json({ words: await console.act(readAction(body)) });
    } catch (thrown) {
      return answerFailure(context, thrown);
    }
  });

  const sendFile = (path: string) => (context: Context) => {
    const file = files.get(path);
    if (!file) return context.notFound();
    return context.body(file.gzip, 200, { 'content-type': file.type, 'content-encoding': 'gzip' });
  };
  for (const route of pageRoutes) app.get(route, sendFile('/index.html'));
  for (const path of files.keys()) app.get(path, sendFile(path));
  return app;
}
