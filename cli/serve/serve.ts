import { RollcallError } from '@rollcall/shared/errors';
import { printResult, say } from '../terminal/output.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { parseServeFlags } from './serve-flags.ts';
import { loadService, serviceNames } from './service-modules.ts';

const help = `Usage: rollcall serve SERVICE [--config FILE] [--check] [settings]

Run one service of a hub in the foreground, until SIGTERM or Ctrl-C; it then finishes what it has begun.

Services: ${serviceNames.join(', ')}
\`rollcall serve streams\` makes the streams that they need, and ends.
\`rollcall serve SERVICE --help\` lists the settings of one.`;

/**
 * Runs one service as its own process.
 * @throws RollcallError USAGE, CONFIG_INVALID, and what the service's start throws
 */
export async function serve(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h') {
    if (name === undefined) throw new RollcallError('USAGE', `name a service: ${serviceNames.join(', ')}`);
    printResult(help);
    return;
  }
  if (name === 'streams') {
    const { makeStreamsOnce } = await import('./make-streams.ts');
    await untilStopped((waitsUntil) => makeStreamsOnce(rest, waitsUntil));
    return;
  }
  const service = await loadService(name);
  if (!service) {
    throw new RollcallError('USAGE', `"${name}" is no service; there are ${serviceNames.join(', ')}`);
  }
  const flags = parseServeFlags(name, service, rest);
  const sources = { flags: flags.settings, environment: process.env, file: flags.config };
  if (flags.check) {
    service.check(sources);
    printResult(`the configuration of ${name} is valid`);
    return;
  }
  await untilStopped(async (waitsUntil, stopped) => {
    const running = await service.start(sources, waitsUntil);
    if (!waitsUntil.aborted) say(`${name} runs; Ctrl-C stops it`);
    try {
      await Promise.race([stopped, running.failed]);
    } finally {
      await running.stop();
    }
  });
}

/** Who is told to stop while it still waits ends well: it has begun nothing. */
async function untilStopped(
  run: (waitsUntil: AbortSignal, stopped: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const stopped = untilStopSignal().then(() => ending.abort());
  await run(ending.signal, stopped).catch((thrown: unknown) => {
    if (!ending.signal.aborted || !(thrown instanceof Error) || thrown.name !== 'AbortError') throw thrown;
  });
}
