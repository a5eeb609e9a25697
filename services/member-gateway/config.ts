import { z } from 'zod';
import { commonConfig, kubernetesConfig } from '@rollcall/shared/service';

const streams = (most: number) => z.coerce.number().int().min(1).max(100_000).default(most);

/** Settings of the member gateway: where the hub's API server reaches it, and how much it carries. */
export const configSchema = z.strictObject({
  ...commonConfig,
  ...kubernetesConfig,
  servingAddress: z
    .union([z.ipv4(), z.ipv6()])
    .default('127.0.0.1')
    .describe("the address where the hub's API server reaches it (127.0.0.1)"),
  servingPort: z.coerce.number().int().min(1).max(65_535).default(8443).describe('and the port (8443)'),
  servingCertFile: z
    .string()
    .min(1)
    .describe('its certificate (PEM), for rollcall-member-gateway.rollcall-system.svc'),
  servingKeyFile: z.string().min(1).describe('the key of that certificate (PEM)'),
  streamsPerPerson: streams(2000).describe('requests that one person may have open at once (2000)'),
  streamsPerCluster: streams(500).describe('requests to one member that may be open at once (500)'),
  streamsInAll: streams(10_000).describe('requests that may be open at once in all (10000)'),
});
export type GatewayConfig = z.output<typeof configSchema>;
