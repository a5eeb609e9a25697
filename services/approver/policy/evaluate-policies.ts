import { parentPort } from 'node:worker_threads';
import type { ParseResult } from '@marcbachmann/cel-js';
import { writtenNames } from './kubernetes-library/register-libraries.ts';
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
export interface WorkerReply {
  readonly matches: readonly { readonly policy: string; readonly rule: string }[];
  readonly failures: readonly { readonly policy: string; readonly rule: string; readonly message: string }[];
}
/** Requests on their way: the policies only when they are others than the last ones, which are most of what is sent. */
export interface WireQuestion {
  readonly policies: readonly WorkerPolicy[] | undefined;
  readonly inputs: readonly string[];
}
/** The answer for one input on its way: rules by their place in the list of all rules of all policies. */
export interface WireReply {
  readonly matches: readonly number[];
  readonly failures: readonly { readonly at: number; readonly message: string }[];
}

type Program = ParseResult | Error;
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
  const programs = policy.rules.map(({ when }) => compile(when));
  compiled.set(policy.name, { version: policy.version, programs });
  return programs;
}

function firstLine(error: Error): string {
  return writtenNames(error.message.split('\n')[0] ?? '').slice(0, 200);
}

let programs: readonly Program[] = [];

function answer({ policies, inputs }: WireQuestion): WireReply[] {
  if (policies) programs = policies.flatMap(programsOf);
  return inputs.map(answerOne);
}

function answerOne(input: string): WireReply {
  const values = toCelValues(input);
  const matches: number[] = [];
  const failures: { at: number; message: string }[] = [];
  for (const [at, run] of programs.entries()) {
    try {
      if (run instanceof Error) throw run;
      const result: unknown = run(values);
      if (result === true) matches.push(at);
      else if (result !== false) failures.push({ at, message: `gave ${typeof result} instead of a bool` });
    } catch (thrown) {
      failures.push({ at, message: firstLine(asError(thrown)) });
    }
  }
  return { matches, failures };
}

// oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.on('message', (question: WireQuestion) => parentPort?.postMessage(answer(question)));
parentPort?.postMessage('ready');
