import { z } from 'zod';
import { yesOrNo } from '@rollcall/shared/config';

/** Settings that every service has. Each service's `config.ts` adds its own to these. */
export const commonConfig = {
  busServers: z
    .string()
    .min(1)
    .transform((text) => text.split(',').map((server) => server.trim()))
    .describe('NATS servers of the hub, host:port, comma-separated'),
  busCaFile: z.string().min(1).describe('PEM file of the CA that the NATS servers show'),
  identityFile: z.string().min(1).describe("the service's keys and bus user (JSON, mode 0600)"),
  logLevel: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('what is logged: debug, info, warn or error'),
  logFile: z.string().optional().describe('log to this file instead of stderr'),
  healthPort: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('serve /livez, /readyz and /metrics on this port (0: any free one)'),
  healthAddress: z
    .union([z.ipv4(), z.ipv6()])
    .default('127.0.0.1')
    .describe(
      'the address for healthPort; anybody who can reach another than loopback can read the metrics (127.0.0.1)',
    ),
  allowUnsafeBus: yesOrNo
    .default(false)
    .describe('start although the NATS server may lose acknowledged messages (true or false)'),
} as const;

/** Settings of services that talk to the hub's Kubernetes API server. */
export const kubernetesConfig = {
  kubeconfig: z
    .string()
    .optional()
    .describe("kubeconfig of the hub; without it the pod's own ServiceAccount"),
  kubeContext: z.string().optional().describe('context in the kubeconfig; without it the current one'),
} as const;
