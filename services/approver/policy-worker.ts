import { parentPort } from 'node:worker_threads';
import type { ParseResult } from '@marcbachmann/cel-js';
import { createPolicyEnvironment, toCelValues } from './policy-environment.ts';

/** A policy on its way to the worker. `version` names its event: the same version is compiled once. */
export interface WorkerPolicy {
  readonly name: string;
  readonly version: string;
  readonly rules: readonly { readonly name: string; readonly when: string }[];
}
export interface WorkerQuestion {
  readonly policies: readonly WorkerPolicy[];
  /** PolicyInput as JSON text: nothing else gets in. */
  readonly input: string;
}
/** Which rules gave true, and which could not be evaluated. */
export interface WorkerAnswer {
  readonly matches: readonly { readonly policy: string; readonly rule: string }[];
  readonly failures: readonly { readonly policy: string; readonly rule: string; readonly message: string }[];
}

type Program = { readonly name: string; readonly run: ParseResult | Error };
const environment = createPolicyEnvironment();
const compiled = new Map<string, { version: string; programs: Program[] }>();

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function compile(when: string): ParseResult | Error {
  try {
    return environment.parse(when);
  } catch (thrown) {
    return asError(thrown);
  }
}

function programsOf(policy: WorkerPolicy): Program[] {
  const known = compiled.get(policy.name);
  if (known?.version === policy.version) return known.programs;
  const programs = policy.rules.map(({ name, when }) => ({ name, run: compile(when) }));
  compiled.set(policy.name, { version: policy.version, programs });
  return programs;
}

function firstLine(error: Error): string {
  return (error.message.split('\n')[0] ?? '').slice(0, 200);
}

function answer({ policies, input }: WorkerQuestion): WorkerAnswer {
  const values = toCelValues(input);
  const matches: { policy: string; rule: string }[] = [];
  const failures: { policy: string; rule: string; message: string }[] = [];
  for (const policy of policies) {
    for (const { name, run } of programsOf(policy)) {
      const at = { policy: policy.name, rule: name };
      try {
        if (run instanceof Error) throw run;
        const result: unknown = run(values);
        if (result === true) matches.push(at);
        else if (result !== false)
          failures.push({ ...at, message: `gave ${typeof result} instead of a bool` });
      } catch (thrown) {
        failures.push({ ...at, message: firstLine(asError(thrown)) });
      }
    }
  }
  return { matches, failures };
}

// oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.on('message', (question: WorkerQuestion) => parentPort?.postMessage(answer(question)));
parentPort?.postMessage('ready');
