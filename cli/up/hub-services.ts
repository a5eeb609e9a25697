import { join } from 'node:path';

import * as agentHost from '@rollcall/agent-host';
import * as approver from '@rollcall/approver';
import * as heartbeat from '@rollcall/heartbeat';
import * as memberGateway from '@rollcall/member-gateway';
import * as projector from '@rollcall/projector';
import * as provisioner from '@rollcall/rbac-provisioner';
import * as registrar from '@rollcall/registrar';
import { loadConfig } from '@rollcall/shared/config';
import { type KubeAccess, kubeconfigYaml } from '@rollcall/shared/kubernetes';
import type { ServiceName } from '@rollcall/shared/rights';
import type { RunningService } from '@rollcall/shared/service';
import * as accountController from '@rollcall/account-controller';
import { renderManifest } from '../register/manifest.ts';
import { writePrivate } from './private-files.ts';

const noFlags = { flags: {}, environment: {} };

/** The ServiceAccount user of a service, as RBAC and the admission policies know it. */
export function serviceUser(name: string): string {
  return `system:serviceaccount:rollcall-system:rollcall-${name}`;
}

export const serviceAccountGroups = ['system:serviceaccounts', 'system:serviceaccounts:rollcall-system'];

export interface HubServicesOptions {
  readonly stateDir: string;
  readonly busServers: string;
  /** Access to the hub's API server as any user. */
  userAccess(name: string, groups: readonly string[]): KubeAccess;
  /** Where the member gateway listens and what it shows; absent: none is started with the others. */
  readonly memberGateway?: Readonly<Record<string, string>> | undefined;
  /** Where a service shall differ from its defaults. */
  readonly settings?: Partial<Record<ServiceName, Readonly<Record<string, string>>>> | undefined;
}

/** Settings of each service, as text where a file would have text; also what separate processes are started with. */
export function serviceSettings(options: HubServicesOptions): Record<ServiceName, Record<string, string>> {
  const { stateDir } = options;
  const kubeconfigOf = (name: string): string => {
    const path = join(stateDir, 'kubeconfigs', `${name}.kubeconfig`);
    writePrivate(path, kubeconfigYaml(options.userAccess(serviceUser(name), serviceAccountGroups)));
    return path;
  };
  const settingsOf = (name: ServiceName, more: Record<string, string> = {}): Record<string, string> => ({
    busServers: options.busServers,
    busCaFile: join(stateDir, 'nats', 'server.pem'),
    identityFile: join(stateDir, 'identities', `${name}.json`),
    logFile: join(stateDir, 'logs', `${name}.log`),
    ...more,
    ...options.settings?.[name],
  });
  return {
    registrar: settingsOf('registrar'),
    approver: settingsOf('approver', {
      kubeconfig: kubeconfigOf('approver'),
      admissionProbeKubeconfig: kubeconfigOf('admission-probe'),
    }),
    'rbac-provisioner': settingsOf('rbac-provisioner', { kubeconfig: kubeconfigOf('rbac-provisioner') }),
    heartbeat: settingsOf('heartbeat'),
    projector: settingsOf('projector', { kubeconfig: kubeconfigOf('projector') }),
    'account-controller': settingsOf('account-controller'),
    // Members of a hub on a developer's machine are on that machine as well.
    'agent-host': settingsOf('agent-host', {
      kubeconfig: kubeconfigOf('agent-host'),
      allowLoopbackMembers: 'true',
    }),
    'member-gateway': settingsOf('member-gateway', {
      kubeconfig: kubeconfigOf('member-gateway'),
      ...options.memberGateway,
    }),
  };
}

/**
 * Starts the services in this process, each under its own identity on the bus and in Kubernetes: the same code and the
 * same rights as processes of their own have.
 */
export async function startHubServices(options: HubServicesOptions): Promise<RunningService[]> {
  const settings = serviceSettings(options);
  const values = <Name extends ServiceName>(name: Name) => ({ ...noFlags, values: settings[name] });
  const starts = [
    registrar.start(loadConfig(registrar.configSchema, values('registrar'))),
    approver.start(loadConfig(approver.configSchema, values('approver'))),
    provisioner.start(loadConfig(provisioner.configSchema, values('rbac-provisioner'))),
    heartbeat.start(loadConfig(heartbeat.configSchema, values('heartbeat'))),
    projector.start(loadConfig(projector.configSchema, values('projector'))),
    accountController.start(loadConfig(accountController.configSchema, values('account-controller'))),
    agentHost.start(loadConfig(agentHost.configSchema, values('agent-host')), renderManifest),
    ...(options.memberGateway === undefined
      ? []
      : [memberGateway.start(loadConfig(memberGateway.configSchema, values('member-gateway')))]),
  ];
  const outcomes = await Promise.allSettled(starts);
  const running = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) {
    await Promise.allSettled(running.map((service) => service.stop()));
    throw failed.reason;
  }
  return running;
}
