/** Agents of some clusters in one process, which chaos kills, pauses and starts again: `node agent-process.ts DIRECTORY`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { directoryKeyStore, runAgent } from '@rollcall/agent';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';

/** Which agents the process runs: DIRECTORY/agents.json, 0600. It looks again from time to time, and starts what is new. */
export interface AgentAssignments {
  readonly hub: readonly string[];
  readonly pin: string;
  readonly member: KubeAccess;
  readonly clusters: readonly { readonly name: string; readonly token: string }[];
}

const directory = process.argv[2] ?? '';
const started = new Set<string>();
const lookEveryMs = 300;

async function startMissing(): Promise<void> {
  const { hub, pin, member, clusters } = JSON.parse(
    readFileSync(join(directory, 'agents.json'), 'utf8'),
  ) as AgentAssignments;
  for (const { name, token } of clusters) {
    if (started.has(name)) continue;
    started.add(name);
    const agent = await runAgent({
      hub,
      trust: { pins: [pin] },
      token,
      member,
      store: directoryKeyStore(join(directory, name)),
      clusterName: name,
      clientId: name,
      version: rollcallVersion,
      onPhase: ({ phase, message }) => process.stdout.write(`${name} [${phase}] ${message}\n`),
    });
    void agent.left().then(() => process.stdout.write(`${name} has left\n`));
  }
}

process.on('SIGTERM', () => process.exit(0));
setInterval(() => void startMissing(), lookEveryMs);
