import { z } from 'zod';
import { describeConfig, loadConfig } from '@rollcall/shared/config';
import { busAddress, commonConfig, readIdentity } from '@rollcall/shared/service';
import { makeStreams } from '../up/nats-server.ts';
import { parseServeFlags } from './serve-flags.ts';

const { busServers, busCaFile, identityFile } = commonConfig;
const configSchema = z.strictObject({
  busServers,
  busCaFile,
  identityFile,
  replicas: z.coerce
    .number()
    .int()
    .min(1)
    .max(5)
    .default(1)
    .describe('NATS servers that keep each stream (1)'),
});

/**
 * Makes the hub's streams, or what an upgrade changes in them: what has to be done before services start. Ends then.
 * @throws RollcallError CONFIG_INVALID, BUS_UNREACHABLE, USAGE
 */
export async function makeStreamsOnce(args: readonly string[]): Promise<void> {
  const { settings } = parseServeFlags('streams', { settings: describeConfig(configSchema) }, args);
  const config = loadConfig(configSchema, { flags: settings, environment: process.env });
  const { bus } = readIdentity(config.identityFile, {});
  await makeStreams(busAddress(config), bus, config.replicas);
}
