import { setTimeout as delay } from 'node:timers/promises';
import { type Admission, type AgentOptions, type PhaseEvent, runAgent } from '@rollcall/agent';
import { type ErrorCode, isErrorCode, RollcallError } from '@rollcall/shared/errors';
import { createPhaseLine } from '../agent/phase-line.ts';
import { exitCodes } from '../exit-code.ts';
import { printResult, say } from '../terminal/output.ts';
import { untilStopSignal } from '../stop-signal.ts';

/** Held, and not only not judged yet. */
function isHeld({ phase, detail }: PhaseEvent): boolean {
  return phase === 'waiting' && detail.reason !== 'Pending';
}

/**
 * What to end with when time is up: what was last in the way.
 * @param last - the newest phase that told anything; undefined when none did
 */
export function lateError(last: PhaseEvent | undefined, timeoutMs: number): RollcallError {
  const late = `the cluster is not Ready after ${timeoutMs / 1000} s`;
  if (last && isHeld(last)) return new RollcallError('REQUEST_HELD', `${late}: ${last.message}`);
  const code = last?.detail.code;
  const known: ErrorCode = code !== undefined && isErrorCode(code) ? code : 'DEADLINE_EXCEEDED';
  return new RollcallError(known, last === undefined ? late : `${late}: ${last.message}`);
}

/** What no waiting will help: the person who reads it must change something and start again. */
export function finalError({ message, detail: { code } }: PhaseEvent): RollcallError | undefined {
  if (code === undefined || !isErrorCode(code)) return undefined;
  const error = new RollcallError(code, message);
  return error.retry ? undefined : error;
}

/**
 * What a person does on the hub about a request that is held.
 * @returns undefined where nobody has to, and where the message has the command: another key takes more than an approval
 */
export function approvalLine(event: PhaseEvent, fingerprint: string | undefined): string | undefined {
  const { clusterId } = event.detail;
  if (!isHeld(event) || clusterId === undefined) return undefined;
  if (event.detail.reason === 'KeyChanged' || event.message.includes('--replace-key')) return undefined;
  return `[approve] on the hub: rollcall approve --id ${clusterId}   (key ${fingerprint ?? 'unknown'})`;
}

/** Asks answered alike are told once. */
function withoutRepeats(tell: (line: string) => void): (line: string) => void {
  let before = '';
  return (line) => {
    if (line !== before) tell(line);
    before = line;
  };
}

/**
 * Is the agent until a signal, with a line for each phase.
 * @param options.timeoutMs - until Ready; undefined: for as long as it takes
 * @param options.sinceMs - `performance.now()` of the start that the person saw
 * @throws RollcallError a refusal that no waiting will help; REQUEST_HELD or the last obstacle when time is up
 */
export async function runInForeground(
  agentOptions: AgentOptions,
  options: { timeoutMs: number | undefined; sinceMs: number },
): Promise<void> {
  const { timeoutMs, sinceMs } = options;
  const stopped = untilStopSignal();
  const refused = Promise.withResolvers<never>();
  const tell = withoutRepeats(say);
  const phaseLine = createPhaseLine();
  let isReady = false;
  let fingerprint: string | undefined;
  let obstacle: PhaseEvent | undefined;
  const agent = await runAgent({
    ...agentOptions,
    onPhase(event) {
      const final = isReady ? undefined : finalError(event);
      if (final) {
        refused.reject(final);
        return;
      }
      // The first phases repeat what preflight has just found out.
      if (event.phase !== 'preflight' || event.detail.code !== undefined) tell(phaseLine(event));
      fingerprint = event.detail.keyFingerprint ?? fingerprint;
      if (event.phase === 'waiting' || event.detail.code !== undefined) obstacle = event;
      const approval = approvalLine(event, fingerprint);
      if (approval !== undefined) tell(approval);
    },
  });
  try {
    const left = agent.left().then(() => 'left' as const);
    const outcome = await firstOf({
      ready: agent.admitted(),
      stopped,
      left,
      refused: refused.promise,
      timeoutMs,
    });
    if (outcome === 'left') {
      const message =
        'the keys that were kept here are those of a cluster that has left; they are forgotten now';
      throw new RollcallError('CLUSTER_LEFT', message);
    }
    if (outcome === 'late') throw lateError(obstacle, timeoutMs ?? 0);
    if (outcome === 'stopped') {
      say('stopped before the cluster was Ready; the same command goes on with the same keys');
      process.exitCode = exitCodes.failed;
      return;
    }
    isReady = true;
    const seconds = ((performance.now() - sinceMs) / 1000).toFixed(1);
    printResult(`cluster "${outcome.clusterName}" is Ready after ${seconds} s`);
    say('the agent runs in the foreground; Ctrl-C stops it, and the same command goes on with the same keys');
    const why = await Promise.race([stopped, left]);
    if (why === 'left')
      printResult(`cluster "${outcome.clusterName}" has left the hub; its keys are forgotten`);
    else say('saying goodbye to the hub');
  } finally {
    await agent.stop();
  }
}

async function firstOf(from: {
  ready: Promise<Admission>;
  stopped: Promise<unknown>;
  left: Promise<'left'>;
  refused: Promise<never>;
  timeoutMs: number | undefined;
}): Promise<Admission | 'stopped' | 'left' | 'late'> {
  const timer = new AbortController();
  const { signal } = timer;
  const late =
    from.timeoutMs === undefined
      ? new Promise<never>(() => undefined)
      : delay(from.timeoutMs, 'late' as const, { signal }).catch(() => 'late' as const);
  try {
    return await Promise.race([
      from.ready,
      from.stopped.then(() => 'stopped' as const),
      from.left,
      from.refused,
      late,
    ]);
  } finally {
    timer.abort();
  }
}
