import { z } from 'zod';
import { publicHostPattern, yesOrNo } from '@rollcall/shared/config';
import { commonConfig } from '@rollcall/shared/service';

const { busServers, busCaFile, logLevel, logFile, healthPort, healthAddress } = commonConfig;

/** Settings of the console in a cluster. No key and no kubeconfig is among them: it has none. */
export const configSchema = z.strictObject({
  busServers,
  busCaFile,
  logLevel,
  logFile,
  healthPort,
  healthAddress,
  apiServer: z
    .url({ protocol: /^https$/ })
    .optional()
    .describe("the hub's API server, https://HOST:PORT; without it that of the cluster it runs in"),
  apiServerCaFile: z.string().min(1).describe('PEM file of the CA that it shows'),
  publicHost: z
    .string()
    .regex(publicHostPattern, 'a host name, in small letters, perhaps with a port')
    // No browser says the port that everybody has.
    .transform((host) => host.replace(/:443$/, ''))
    .describe('the name at which people open it, as it stands in the address; it answers to no other'),
  behindProxy: yesOrNo
    .default(false)
    .describe('a proxy in front signs people in, and passes their token in Authorization (true or false)'),
  servingAddress: z
    .union([z.ipv4(), z.ipv6()])
    .default('127.0.0.1')
    .describe('the address where people, or their proxy, reach it (127.0.0.1)'),
  servingPort: z.coerce.number().int().min(0).max(65_535).default(8443).describe('and the port (8443)'),
  servingCertFile: z.string().min(1).describe('its certificate (PEM), for the public name'),
  servingKeyFile: z.string().min(1).describe('the key of that certificate (PEM)'),
  sessions: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(20)
    .describe('sessions at once; each keeps the fleet in memory, some 60 MB for 100,000 clusters (20)'),
});
export type ConsoleConfig = z.output<typeof configSchema>;
