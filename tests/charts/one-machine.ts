import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { podAddress } from './pod-process.ts';

export const hubServices = [
  'agent-host',
  'approver',
  'heartbeat',
  'projector',
  'rbac-provisioner',
  'registrar',
  'account-controller',
  'member-gateway',
] as const;

export interface OneMachine {
  /** Of each server, with commas between them. */
  readonly address: string;
  /** Where WebSocket is, once it is on. */
  readonly websocketAddress: string;
  readonly valuesFile: string;
  /** Where a console is, once it is on. */
  readonly consolePort: number;
}

/** Values of a hub whose pods all run on this machine, for nobody else: no names, and ports of their own. */
export async function oneMachine(folder: string, servers: 1 | 3 = 1): Promise<OneMachine> {
  const names = [
    'nats',
    'routes',
    'websocket',
    'serving',
    'console',
    'consoleHealth',
    ...hubServices,
  ] as const;
  const ports = await loopbackPorts(join(folder, 'ports.json'), names);
  const address = Array.from({ length: servers }, (_, pod) => `${podAddress(pod)}:${ports.nats}`).join(',');
  const valuesFile = join(folder, 'values.yaml');
  const values = {
    nats: {
      address,
      host: '$POD_IP',
      port: ports.nats,
      routePort: ports.routes,
      websocketPort: ports.websocket,
      serviceType: 'ClusterIP',
    },
    healthAddress: '127.0.0.1',
    // Nobody here carries what is sent to a Service: the API server finds it by name alone.
    memberGateway: { externalName: 'localhost', port: ports.serving, servingPort: ports.serving },
    console: { servingPort: ports.console, healthPort: ports.consoleHealth },
    services: Object.fromEntries(hubServices.map((name) => [name, { healthPort: ports[name] }])),
  };
  writeFileSync(valuesFile, stringify(values));
  return {
    address,
    websocketAddress: `wss://127.0.0.1:${ports.websocket}`,
    valuesFile,
    consolePort: ports.console,
  };
}
