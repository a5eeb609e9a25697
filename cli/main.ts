#!/usr/bin/env -S node --max-semi-space-size=4
// All services of a hub share the process of `rollcall up`: a small young generation takes 80 MiB less after a burst, and no more CPU.
import { preferSmallFootprint } from '@rollcall/agent/low-memory-flags';
import { keepCompiledCode } from './compile-cache.ts';
import { runToEnd } from './run-to-end.ts';

keepCompiledCode();
const isAgentOfPod = process.argv.slice(2).join(' ') === 'agent run';
if (process.argv[2] === 'agent') preferSmallFootprint();
await runToEnd(async () => {
  if (isAgentOfPod) {
    // A pod's agent takes no flags and has 65 MB; reading a command line would cost 11 of them (measured).
    const { runAgentCommand } = await import('./agent/run-agent-command.ts');
    await runAgentCommand({});
  } else {
    const { runCommandLine } = await import('./commands/run-command-line.ts');
    await runCommandLine();
  }
});
