import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createKeyedQueue } from '@rollcall/shared/decisions';
import type {
  WireReply,
  WireQuestion,
  WorkerReply,
  WorkerPolicy,
  WorkerQuestion,
} from './evaluate-policies.ts';

export type Evaluation =
  | { readonly kind: 'evaluated'; readonly answer: WorkerReply }
  | { readonly kind: 'timeout' };

/** Evaluates policies where they can do no harm: in a thread that is ended when it takes too long. */
export interface PolicyEvaluator {
  evaluate(question: WorkerQuestion): Promise<Evaluation>;
  close(): Promise<void>;
}

/** For whoever judges a whole history: the way to the thread and back costs more than most requests. */
export interface BulkPolicyEvaluator extends PolicyEvaluator {
  /** The same answers as `evaluate` gives each input by itself, in their order. */
  evaluateAll(
    question: Omit<WorkerQuestion, 'input'> & { readonly inputs: readonly string[] },
  ): Promise<Evaluation[]>;
}

/** A busy machine is no proof of a bad policy: before a request is held, it gets this much more, in CPU time of the worker. */
const secondChance = 5;
/** Whatever the machine has to do beside it: nobody waits for longer. In deadlines. */
const givenUpAfter = 100;

/** In the folder of this file, and compiled where this one is. */
const workerUrl = new URL(`evaluate-policies${import.meta.url.slice(-'.ts'.length)}`, import.meta.url);

interface WarmWorker {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  /** Which policies it has. */
  versions: string | undefined;
}

function versionsOf(policies: readonly WorkerPolicy[]): string {
  return policies.map(({ name, version }) => `${name}@${version}`).join(' ');
}

/** Gives the rules their names back. */
function named(policies: readonly WorkerPolicy[], { matches, failures }: WireReply): WorkerReply {
  if (matches.length === 0 && failures.length === 0) return { matches: [], failures: [] };
  const all = policies.flatMap(({ name, rules }) => rules.map((rule) => ({ policy: name, rule: rule.name })));
  const of = (at: number) => all.slice(at, at + 1);
  return {
    matches: matches.flatMap(of),
    failures: failures.flatMap(({ at, message }) => of(at).map((rule) => ({ ...rule, message }))),
  };
}

function startWorker(): WarmWorker {
  // No environment and no arguments: there is nothing of the host for an expression to find.
  const worker = new Worker(workerUrl, {
    env: {},
    argv: [],
    // More than an expression can fill before its deadline: V8 may end the whole process where a worker runs into its limit.
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  worker.unref();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.once('message', () => resolve());
  worker.once('error', reject);
  worker.once('exit', () => reject(new Error('the policy worker ended before it was ready')));
  // Whoever waits for it sees the error; a worker that nobody has asked yet must not end the process.
  promise.catch(() => undefined);
  return { worker, ready: promise, versions: undefined };
}

/**
 * @param options.deadlineMs - for all policies of one request together, from when the worker begins with it
 */
export function createPolicyEvaluator(options: { deadlineMs: number }): BulkPolicyEvaluator {
  let current: WarmWorker | undefined = startWorker();
  /** One at a time, so that the deadline of a request does not run while another one is evaluated. */
  const queue = createKeyedQueue();
  let closed = false;

  async function replaceWorker(): Promise<void> {
    const old = current;
    current = closed ? undefined : startWorker();
    await old?.worker.terminate();
  }

  /**
   * Resolves when a question has had its time.
   * @throws when the signal is aborted, or the worker has ended
   */
  async function untilOverdue(worker: Worker, signal: AbortSignal): Promise<void> {
    const { deadlineMs } = options;
    const giveUpAtMs = performance.now() + givenUpAfter * deadlineMs;
    await delay(deadlineMs, undefined, { signal });
    const before = await worker.cpuUsage();
    let leftMs = deadlineMs * secondChance;
    while (leftMs > 0 && performance.now() < giveUpAtMs) {
      await delay(leftMs, undefined, { signal });
      const { user, system } = await worker.cpuUsage(before);
      leftMs = deadlineMs * secondChance - (user + system) / 1000;
    }
    // If this process itself was late, the answer may be here already: messages come before immediates.
    await immediate(undefined, { signal });
  }

  /** @returns `overdue` when not all of it is answered in time, `ended` when the worker came to its end over it */
  async function ask({
    policies,
    inputs,
  }: {
    policies: readonly WorkerPolicy[];
    inputs: readonly string[];
  }): Promise<Evaluation[] | 'overdue' | 'ended'> {
    const warm = (current ??= startWorker());
    const { worker, ready } = warm;
    try {
      await ready;
    } catch (error) {
      await replaceWorker();
      throw error;
    }
    const { promise, resolve } = Promise.withResolvers<Evaluation[] | 'overdue' | 'ended'>();
    const onMessage = (answers: readonly WireReply[]) =>
      resolve(answers.map((answer) => ({ kind: 'evaluated', answer: named(policies, answer) })));
    const onEnd = () => resolve('ended');
    const onOverdue = () => resolve('overdue');
    worker.once('message', onMessage).once('error', onEnd).once('exit', onEnd);
    const versions = versionsOf(policies);
    const isKnown = warm.versions === versions;
    const wire: WireQuestion = { policies: isKnown ? undefined : policies, inputs };
    warm.versions = versions;
    const answered = new AbortController();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(wire);
    untilOverdue(worker, answered.signal).then(onOverdue, onEnd);
    const evaluations = await promise;
    answered.abort();
    worker.off('message', onMessage).off('error', onEnd).off('exit', onEnd);
    if (typeof evaluations === 'string') await replaceWorker();
    return evaluations;
  }

  async function askOne({ policies, input }: WorkerQuestion): Promise<Evaluation> {
    const question = { policies, inputs: [input] };
    const first = await ask(question);
    // It may have ended over something else. Out of memory is a bomb like an endless expression: the second time the same answer.
    const answers = first === 'ended' && !closed ? await ask(question) : first;
    return (typeof answers === 'string' ? undefined : answers[0]) ?? { kind: 'timeout' };
  }

  return {
    evaluate: (question) => queue('worker', () => askOne(question)),
    evaluateAll: ({ policies, inputs }) =>
      queue('worker', async () => {
        // All within the time of one: then each was within its own. Otherwise each is asked by itself.
        const together = inputs.length > 1 ? await ask({ policies, inputs }) : undefined;
        if (typeof together === 'object') return together;
        const evaluations: Evaluation[] = [];
        for (const input of inputs) evaluations.push(await askOne({ policies, input }));
        return evaluations;
      }),
    async close() {
      closed = true;
      await replaceWorker();
    },
  };
}
