import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Refusal } from '../../rows/index.ts';
import { refusalOf } from '../access/admit-request.ts';
import { factsOf } from '../access/request-facts.ts';
import { formHeaders, withSecurityHeaders } from '../access/security-headers.ts';
import { sessionSecret, type Session, type Sessions, type SignInRefusal } from './sessions.ts';
import { signInPage, signInStyle } from './sign-in-page.ts';

export interface ServedApp {
  /** As it stands in the address: `console.example.org`, perhaps with a port. */
  readonly publicHost: string;
  /** Whether a proxy in front signs people in, and passes their token. */
  readonly isBehindProxy: boolean;
  readonly sessions: Sessions;
}

/** `__Host-`: of this very name, by TLS only. */
const cookie = '__Host-rollcall-console';
const mostTokenBytes = 32_768;
const tokenPattern = /^[\x21-\x7e]{1,32768}$/;

const signIn = '/sign-in';
/** Once seen by TLS, a browser asks by nothing else. */
const alwaysTls = { 'strict-transport-security': 'max-age=31536000' };

const signInStatus = { none: 400, unknown: 401, away: 502, full: 503, busy: 503 } as const;

const isApi = ({ req }: Context): boolean => req.path.startsWith('/api/');

function refuse(context: Context, message: string, status: 401 | 403 | 429 | 503): Response {
  const hint =
    status === 429
      ? 'Close pages of the console that nobody looks at.'
      : 'Open the console anew and sign in again.';
  if (isApi(context)) return context.json<Refusal>({ code: 'REFUSED', message, hint }, status);
  return context.text(`Refused: ${message}.\n\n${hint}\n`, status);
}

/** Answers everybody's requests: each by the session of who asks, with that person's token. Nobody is anybody else here. */
export function createServedApp({ publicHost, isBehindProxy, sessions }: ServedApp): Hono {
  const app = new Hono();
  const name = { authority: publicHost, origin: `https://${publicHost}` };

  app.use(async (context, next) => {
    const facts = factsOf(context.req);
    // The page itself is no secret, and people come to it from elsewhere; what it shows it asks for by itself.
    const isEntrance = facts.method === 'GET' && !isApi(context);
    const refusal = refusalOf({ ...facts, hasSession: true, isEntrance }, name);
    if (refusal === undefined) await next();
    else context.res = refuse(context, refusal, 403);
    withSecurityHeaders(context.res.headers, {
      ...alwaysTls,
      ...(context.req.path === signIn ? formHeaders : {}),
    });
  });

  if (isBehindProxy) answerBehindProxy(app, sessions);
  else answerSignedIn(app, sessions);
  return app;
}

const asPerson = (session: Session, context: Context): Response | Promise<Response> =>
  session.answer(context.req.raw, (context.env as HttpBindings).outgoing as ServerResponse) ??
  refuse(context, 'as many requests of this session are under way as may be', 429);

const form = (context: Context, refusal?: keyof typeof signInStatus) => {
  const status = refusal === undefined ? 200 : signInStatus[refusal];
  return context.html(signInPage(refusal), status);
};

function answerSignedIn(app: Hono, sessions: Sessions): void {
  app.get(signIn, (context) => form(context));
  app.get('/sign-in.css', (context) =>
    context.body(signInStyle, 200, { 'content-type': 'text/css; charset=utf-8' }),
  );
  app.post(signIn, bodyLimit({ maxSize: mostTokenBytes + 1024 }), async (context) => {
    const { token } = await context.req.parseBody().catch((): Record<string, undefined> => ({}));
    const pasted = typeof token === 'string' ? token.trim() : '';
    if (!tokenPattern.test(pasted)) return form(context, 'none');
    const secret = sessionSecret();
    // Who signs in anew in one browser has one session there.
    const opened = await sessions.open(pasted, secret, getCookie(context, cookie));
    if (typeof opened === 'string') return form(context, opened);
    setCookie(context, cookie, secret, { httpOnly: true, secure: true, sameSite: 'Strict', path: '/' });
    return context.redirect('/', 303);
  });
  app.post('/sign-out', (context) => {
    sessions.close(getCookie(context, cookie));
    deleteCookie(context, cookie, { httpOnly: true, secure: true, sameSite: 'Strict', path: '/' });
    return context.redirect(signIn, 303);
  });
  app.all('*', (context) => {
    const session = sessions.of(getCookie(context, cookie));
    if (session) return asPerson(session, context);
    return isApi(context)
      ? refuse(context, 'nobody is signed in, or no more', 401)
      : context.redirect(signIn, 303);
  });
}

const whyNot: Readonly<Record<SignInRefusal, string>> = {
  unknown: 'the API server does not know the token that the proxy passes',
  away: 'the API server does not answer',
  full: 'there are as many sessions as this console, or one person, has room for',
  busy: 'too many people sign in at this moment; try again in a second',
};

function answerBehindProxy(app: Hono, sessions: Sessions): void {
  app.all('*', async (context) => {
    const [, token] =
      /^Bearer ([\x21-\x7e]{1,32768})$/i.exec(context.req.header('authorization') ?? '') ?? [];
    if (token === undefined) return refuse(context, 'the proxy in front passes no token', 401);
    const opened = sessions.of(token) ?? (await sessions.open(token, token));
    if (typeof opened === 'string') return refuse(context, whyNot[opened], opened === 'unknown' ? 401 : 503);
    return asPerson(opened, context);
  });
}
