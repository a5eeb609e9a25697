import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { hubDomain } from '@rollcall/shared/rights';
import { decodeJwt } from '@rollcall/shared/trust';
import { busAccess, type BusFlags } from '../events/bus-access.ts';
import { configDirectory, contextPath } from '../events/nats-context.ts';
import { printResult, say } from '../terminal/output.ts';
import { printableJson } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { writePrivate } from '../up/private-files.ts';
import { credsText } from './creds-text.ts';

export interface ExportFlags extends BusFlags {
  readonly name: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

const mark = 'written by rollcall context export';

function isOurs(path: string): boolean {
  return readFileSync(path, 'utf8').includes(mark);
}

/**
 * `rollcall context export`: a read-only context of the `nats` command, with copies of the credentials and of the hub's CA. The
 * context that is selected there stays selected.
 * @throws RollcallError USAGE for a name that is none, or a context of that name which somebody else made; HUB_MISSING …
 */
export async function exportContext(flags: ExportFlags): Promise<void> {
  const path = contextPath(flags.name);
  if (existsSync(path) && !flags.force && !isOurs(path)) {
    throw new RollcallError(
      'USAGE',
      `"${path}" is there already and not from here; give another --name, or --force`,
    );
  }
  const { address, credentials } = await withProgress('reading the hub', busAccess(flags));
  const kept = join(configDirectory(), 'rollcall', flags.name);
  const role = decodeJwt(credentials.jwt)?.name ?? 'ops';
  const files = { creds: join(kept, `${role}.creds`), ca: join(kept, 'ca.pem') };
  const context = {
    description: `Rollcall hub, read-only; ${mark}`,
    url: address.servers.map((server) => `nats://${server}`).join(','),
    ...files,
    // The only inboxes that these credentials may listen on.
    inbox_prefix: `_INBOX_${role}`,
    ...(role === 'ops' ? {} : { jetstream_domain: hubDomain }),
    tls_first: true,
  };
  if (flags.dryRun) say('a context like this would be written (dry run)');
  else {
    writePrivate(files.creds, credsText(credentials));
    writePrivate(files.ca, address.caPem);
    writePrivate(path, `${printableJson(context, 2)}\n`);
    say(`context "${flags.name}" is written; with the nats command:`);
    for (const line of natsLines(flags.name, role)) say(`  ${line}`);
  }
  printResult(path);
}

/** What these rights allow; tried with the real command (docs/watching.md). */
function natsLines(name: string, role: string): string[] {
  return [
    `nats --context ${name} sub 'rollcall.stored.>'`,
    `nats --context ${name} sub 'rollcall.live.*'`,
    `nats --context ${name} micro ls`,
    ...(role === 'ops' ? [] : [`nats --context ${name} stream info EVENTS`]),
  ];
}
