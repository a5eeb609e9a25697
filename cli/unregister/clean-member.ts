import { uninstallFromMember } from '@rollcall/agent';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { say } from '../terminal/output.ts';

/** Removes the agent from a member, whether or not it runs there, and says what was there. */
export async function cleanMember(
  member: Pick<KubeClient, 'get' | 'mergePatch' | 'delete'>,
  { dryRun }: { dryRun: boolean },
): Promise<void> {
  const { beforeGoodbye, afterGoodbye } = uninstallFromMember({
    get: member.get,
    mergePatch: (resource, name, patch, options) =>
      member.mergePatch(resource, name, patch, { ...options, dryRun }),
    async delete(resource, name, options) {
      const wasThere = await member.delete(resource, name, { ...options, dryRun });
      const what = `${resource.kind} ${options?.namespace === undefined ? '' : `${options.namespace}/`}${name}`;
      if (wasThere) say(`[member] ${what} ${dryRun ? 'would be deleted' : 'deleted'}`);
      return wasThere;
    },
  });
  await beforeGoodbye();
  await afterGoodbye();
}
