import { directoryKeyStore, runAgent } from '@rollcall/agent';
import { loadKubeAccess } from '@rollcall/shared/kubernetes';

/**
 * An agent of its own process that rotates its key and is killed without warning, when its state is kept for the n-th time:
 * just before, or just after.
 * Arguments: its directory, the hub, the pin of its CA, the name, the member's kubeconfig, `before` or `after`, n.
 */
const [directory = '', hub = '', pin = '', name = '', kubeconfig = '', when = '', count = ''] =
  process.argv.slice(2);
const store = directoryKeyStore(directory);
let left = Number(count);
const agent = await runAgent({
  hub: hub.split(','),
  trust: { pins: [pin] },
  member: loadKubeAccess({ path: kubeconfig }),
  store: {
    ...store,
    async save(state) {
      const isLast = --left === 0;
      if (isLast && when === 'before') process.kill(process.pid, 'SIGKILL');
      await store.save(state);
      if (isLast) process.kill(process.pid, 'SIGKILL');
    },
  },
  clusterName: name,
  clientId: name,
  version: '0.0.0',
});
agent.rotate();
