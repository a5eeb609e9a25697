import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { isSafeId } from '@rollcall/shared/events/safe-id';
import { z } from 'zod';

/** What the `nats` command keeps of a context (NATS ADR-21), as far as it matters here. */
const contextSchema = z.looseObject({
  url: z.string().optional(),
  creds: z.string().optional(),
  ca: z.string().optional(),
});
export interface NatsContext {
  readonly path: string;
  readonly servers: readonly string[];
  readonly creds: string | undefined;
  readonly ca: string | undefined;
}

/** Where programs of this user keep their settings. */
export function configDirectory(): string {
  return process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config');
}

/** @throws RollcallError USAGE for a name that is no file name */
export function contextPath(name: string): string {
  if (isSafeId(name.toLowerCase().replaceAll(/[._]/g, '-'))) {
    return join(configDirectory(), 'nats', 'context', `${name}.json`);
  }
  throw new RollcallError(
    'USAGE',
    `"${name}" is no name for a context; use letters, digits, ".", "_" and "-"`,
  );
}

/**
 * `nats://host:port` as other tools write it, or `host:port`; several with commas between them. A user and password in it are of
 * no use here, and addresses are shown.
 */
export function serversOf(url: string): string[] {
  return url
    .split(',')
    .map((one) =>
      one
        .trim()
        .replace(/^(nats|tls):\/\//, '')
        .replace(/^.*@/, '')
        .replace(/\/$/, ''),
    )
    .filter((one) => one !== '');
}

/** @throws RollcallError USAGE where there is no such context, or it is none */
export function readNatsContext(name: string): NatsContext {
  const path = contextPath(name);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `there is no NATS context "${name}": cannot read "${path}"`, { cause });
  }
  const parsed = contextSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new RollcallError('USAGE', `"${path}" is no context of the nats command`);
  const { url = '', creds = '', ca = '' } = parsed.data;
  const file = (value: string) => (value === '' ? undefined : resolve(dirname(path), value));
  return { path, servers: serversOf(url), creds: file(creds), ca: file(ca) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
