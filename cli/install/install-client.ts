import { createKubeClient, type KubeAccess, type KubeClient } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';

/** For what installs and removes: one owner of the fields of all that it applies. */
export function installClient(access: KubeAccess): KubeClient {
  return createKubeClient(access, {
    fieldManager: 'rollcall-install',
    userAgent: `rollcall/${rollcallVersion}`,
  });
}
