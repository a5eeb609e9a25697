import { RollcallError } from '@rollcall/shared/errors';

/** @throws RollcallError USAGE */
export function portFlag(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new RollcallError('USAGE', `--port "${text}" is no port number`);
}
