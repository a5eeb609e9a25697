import type { HonoRequest } from 'hono';
import type { RequestFacts } from './admit-request.ts';

/** What a request says of itself. */
export const factsOf = (
  req: HonoRequest,
): Pick<RequestFacts, 'method' | 'host' | 'origin' | 'fetchSite'> => ({
  method: req.method,
  host: req.header('host'),
  origin: req.header('origin'),
  fetchSite: req.header('sec-fetch-site'),
});
