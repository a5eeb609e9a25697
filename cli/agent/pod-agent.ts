import { preferSmallFootprint } from '@rollcall/agent/low-memory-flags';
import { runToEnd } from '../run-to-end.ts';

/*
 * What the agent's own image runs: `rollcall agent run` without flags, which is all that a Pod of it says. It is bundled into a
 * folder of its own (tools/build.mjs), so that a member gets nothing of the hub, and little to load.
 */
preferSmallFootprint();
await runToEnd(async () => {
  // After the flags of V8: what is compiled before them is kept.
  const { runAgentCommand } = await import('./run-agent-command.ts');
  await runAgentCommand({});
});
