import { Hono } from 'hono';
import { z } from 'zod';
import type { TokenMade, TokenMaking, TokenRevoking, TokenRow } from '../../rows/index.ts';
import { limitBody, readBody } from '../read-body.ts';

/** What a person does with registration tokens, by the code of the commands and with the rights of the person. */
export interface TokenDesk {
  /** Stands in every token. */
  hubId(): Promise<string>;
  list(): Promise<readonly TokenRow[]>;
  /** Declares the public half of a token that a browser made. */
  make(token: TokenMaking): Promise<TokenMade>;
  /** @returns what came of it */
  revoke(token: TokenRevoking): Promise<string>;
}

const mostBodyBytes = 16_384;
const word = (most: number) => z.string().min(1).max(most).optional();
/** A public key is all of a token that the page sends, and what stands in its place is nothing else. */
const making = z.strictObject({
  publicKey: z.string().regex(/^U[A-Z2-7]{55}$/),
  uses: z.string().min(1).max(16),
  ttl: z.string().min(1).max(32),
  name: word(63),
  clusterName: word(63),
  clientId: word(253),
  labels: word(8192),
  allowLabels: word(4096),
  clusterSet: word(63),
  description: word(256),
});
const revoking = z.strictObject({
  namespace: z.string().min(1).max(63),
  name: z.string().min(1).max(253),
  uid: z.string().min(1).max(64),
});

export function tokenRoutes(desk: TokenDesk): Hono {
  const app = new Hono();
  app.use(limitBody(mostBodyBytes));
  app.get('/', async (context) => context.json(await desk.list()));
  app.get('/hub', async (context) => context.json({ hubId: await desk.hubId() }));
  app.post('/make', async (context) => context.json(await desk.make(await readBody(context, making))));
  app.post('/revoke', async (context) =>
    context.json({ words: await desk.revoke(await readBody(context, revoking)) }),
  );
  return app;
}
