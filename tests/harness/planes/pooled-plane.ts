import { rmSync } from 'node:fs';
import { createKubeClient } from '@rollcall/shared/kubernetes';
import { startControlPlane } from '../../../cli/up/control-plane/control-plane.ts';
import { applyHubKinds } from '../../../cli/up/hub-manifests.ts';
import { untilAttributed } from '../attribution.ts';
import { etcdContent } from './etcd-content.ts';
import type { PlaneKind } from './plane-kinds.ts';

/** An API server that several tests have, one after the other. */
export interface PooledPlane {
  readonly kind: PlaneKind;
  readonly stateDir: string;
  /** @returns whether it is as a new one; what was changed by which the API server judges takes it seconds to believe */
  putBack(): Promise<boolean>;
  stop(): Promise<void>;
}

/** The API server compiles these, and serves the former ones for a while. */
const judging = /^\/registry\/(?:admissionregistration\.k8s\.io|apiextensions\.k8s\.io)\//;

export async function startPooledPlane(kind: PlaneKind, stateDir: string): Promise<PooledPlane> {
  const isHub = kind === 'hub';
  const plane = await startControlPlane({
    stateDir,
    withControllerManager: isHub,
    withWorkloads: !isHub,
    clusterName: isHub ? 'rollcall-hub' : 'member',
  });
  const content = etcdContent(plane.etcdEndpoint);
  async function stop(): Promise<void> {
    content[Symbol.dispose]();
    // What it has is thrown away: nobody waits until it has ended in order.
    await Promise.all([plane.kill('kube-apiserver'), plane.kill('etcd')]);
    await plane.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
  try {
    if (isHub) {
      const client = createKubeClient(plane.access, {
        fieldManager: 'rollcall-up',
        userAgent: 'rollcall-up',
      });
      await applyHubKinds(client);
      await untilAttributed(client);
      client.close();
    }
    await content.keep();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    kind,
    stateDir,
    putBack: async () => {
      const changed = await content.putBack();
      // Controllers may have answered to what was taken away.
      await content.putBack();
      return !changed.some((key) => judging.test(key));
    },
    stop,
  };
}
