import { join } from 'node:path';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { loopbackPorts } from './loopback-ports.ts';
import { writePrivate } from './private-files.ts';
import { keepGatewayCertificate } from './state/gateway-certificate.ts';

const serviceName = 'rollcall-member-gateway';
const namespace = 'rollcall-system';
const apiServiceName = 'v1alpha1.proxy.rollcall.dev';

/** Where the member gateway of an embedded hub listens, and what it shows. */
export interface MemberApiPlace {
  readonly port: number;
  readonly caPem: string;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Has the certificate of the member gateway ready and draws its port.
 * @throws RollcallError PORT_BUSY, STATE_INVALID
 */
export async function prepareMemberApi(stateDir: string): Promise<MemberApiPlace> {
  const folder = join(stateDir, 'member-gateway');
  const { caPem, certificatePem, privateKeyPem } = keepGatewayCertificate(stateDir, Date.now());
  const [servingCertFile, servingKeyFile] = [join(folder, 'server.pem'), join(folder, 'server-key.pem')];
  writePrivate(servingKeyFile, privateKeyPem);
  writePrivate(servingCertFile, certificatePem);
  const ports = await loopbackPorts(join(folder, 'ports.json'), ['member-gateway']);
  const port = ports['member-gateway'];
  return {
    port,
    caPem,
    settings: { servingAddress: '127.0.0.1', servingPort: String(port), servingCertFile, servingKeyFile },
  };
}

/** A Service by name: found without kube-proxy, endpoints or DNS of a cluster (measured). */
function apiObjects({ port, caPem }: MemberApiPlace): KubeObject[] {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serviceName, namespace },
    spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ name: 'https', port }] },
  };
  const apiService = {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: apiServiceName },
    spec: {
      group: 'proxy.rollcall.dev',
      version: 'v1alpha1',
      // Below that of our kinds: `kubectl get managedclusters` means those.
      groupPriorityMinimum: 10,
      versionPriority: 10,
      caBundle: Buffer.from(caPem, 'utf8').toString('base64'),
      service: { name: serviceName, namespace, port },
    },
  };
  return [service, apiService] as KubeObject[];
}

/** Tells the API server where the gateway is, once it is there. */
export async function announceMemberApi(admin: KubeClient, place: MemberApiPlace): Promise<void> {
  await applyManifests(admin, apiObjects(place));
}

/** An API that nobody serves keeps Kubernetes from emptying namespaces: what an earlier run announced goes where there is no gateway. */
export async function withdrawMemberApi(admin: KubeClient): Promise<void> {
  await admin.delete(resources.apiServices, apiServiceName);
}
