import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { Refusal } from '../../rows/index.ts';
import { refusalOf } from './admit-request.ts';
import type { OneTimeLink } from './one-time-link.ts';
import { isOtherUser } from './peer-user.ts';
import { factsOf } from './request-facts.ts';
import { withSecurityHeaders } from './security-headers.ts';

const entrance = '/open';

const refuse = (context: Context, message: string): Response => {
  const hint = 'Run `rollcall console` again: it prints a link that opens once.';
  const isPage = context.req.method === 'GET' && !context.req.path.startsWith('/api/');
  if (isPage) return context.text(`Refused: ${message}.\n\n${hint}\n`, 403);
  return context.json<Refusal>({ code: 'REFUSED', message, hint }, 403);
};

function ofOtherUser({ env }: Context): boolean {
  const { localAddress, localPort, remoteAddress, remotePort } =
    (env as Partial<HttpBindings>).incoming?.socket ?? {};
  if (!localAddress || !localPort || !remoteAddress || !remotePort) return false;
  return isOtherUser({
    own: { address: localAddress, port: localPort },
    peer: { address: remoteAddress, port: remotePort },
  });
}

export interface OneBrowser {
  /** `127.0.0.1:PORT` */
  readonly authority: string;
  readonly link: OneTimeLink;
  /** A link that is opened by a command stands in the list of processes, for everybody of this machine. */
  readonly ownUserOnly: boolean;
}

/** Lets in the browser that opened the link, and nobody else. */
export function admitOneBrowser(app: Hono, { authority, link, ownUserOnly }: OneBrowser): void {
  // Cookies do not know ports: two consoles on one machine would overwrite each other's.
  const cookie = `rollcall-console-${authority.split(':')[1]}`;
  const name = { authority, origin: `http://${authority}` };

  app.use(async (context, next) => {
    const refusal = refusalOf(
      {
        ...factsOf(context.req),
        hasSession: link.isSession(getCookie(context, cookie)),
        isEntrance: context.req.path === entrance,
      },
      name,
    );
    if (refusal === undefined) await next();
    else context.res = refuse(context, refusal);
    withSecurityHeaders(context.res.headers);
  });

  // Hono answers HEAD by what GET does: here that would use the link up.
  app.use(entrance, async (context, next) =>
    context.req.method === 'HEAD' ? context.body(null, 405, { allow: 'GET' }) : next(),
  );

  app.get(entrance, (context) => {
    if (ownUserOnly && ofOtherUser(context)) return refuse(context, 'another user of this machine asks');
    const session = link.open(context.req.query('key') ?? '');
    if (session === undefined)
      return refuse(context, 'this link was opened before, or is none of this console');
    setCookie(context, cookie, session, { httpOnly: true, sameSite: 'Strict', path: '/' });
    return context.redirect('/', 303);
  });
}
