import { z } from 'zod';
import { describeConfig, loadConfig } from '@rollcall/shared/config';
import { busAddress, commonConfig, readIdentity, untilBusIsThere } from '@rollcall/shared/service';
import { printResult, say } from '../terminal/output.ts';
import { makeStreams } from '../up/nats/nats-server.ts';
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
 * Makes the hub's streams, or what an upgrade changes in them: what services wait for. Ends then.
 * @param waitsUntil - until when a bus is waited for that is not there yet
 * @throws RollcallError CONFIG_INVALID, BUS_REFUSED, USAGE; AbortError
 */
export async function makeStreamsOnce(args: readonly string[], waitsUntil: AbortSignal): Promise<void> {
  const { settings } = parseServeFlags('streams', { settings: describeConfig(configSchema) }, args);
  const config = loadConfig(configSchema, { flags: settings, environment: process.env });
  const { bus } = readIdentity(config.identityFile, {});
  let last = '';
  await untilBusIsThere(() => makeStreams(busAddress(config), bus, config.replicas), {
    until: waitsUntil,
    onMissing({ message }) {
      if (message !== last) say(`waiting for the bus: ${message}`);
      last = message;
    },
  });
  printResult('the streams are there');
}
