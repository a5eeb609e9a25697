import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { loopbackPorts } from '../../cli/up/control-plane-ports.ts';

export const hubServices = [
  'agent-host',
  'approver',
  'heartbeat',
  'projector',
  'rbac-provisioner',
  'registrar',
  'trust-keeper',
] as const;

/** Values of a hub whose pods all run on this machine, for nobody else: no names, and ports of their own. */
export async function oneMachine(folder: string): Promise<{ address: string; valuesFile: string }> {
  const ports = await loopbackPorts(join(folder, 'ports.json'), ['nats', ...hubServices]);
  const address = `127.0.0.1:${ports.nats}`;
  const valuesFile = join(folder, 'values.yaml');
  const values = {
    nats: { address, host: '127.0.0.1', port: ports.nats, serviceType: 'ClusterIP' },
    healthAddress: '127.0.0.1',
    services: Object.fromEntries(hubServices.map((name) => [name, { healthPort: ports[name] }])),
  };
  writeFileSync(valuesFile, stringify(values));
  return { address, valuesFile };
}
