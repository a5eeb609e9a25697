import { setTimeout as delay } from 'node:timers/promises';
import {
  apiVersionOf,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import type { Row } from './rows.ts';

/** What an expression gives. `undefined` for a value of a type that has no text. */
export type Answer =
  | { readonly kind: 'compile error' | 'error' }
  | { readonly kind: 'value'; readonly text: string | undefined };

/** What an expression reads where the row has `$`. */
export function withValue(expression: string): string {
  return expression.replaceAll(/\$(?=[.,)\]])/g, 'object.data.value');
}

/** The type of a value and the value, in one line. */
export function textExpression(expression: string): string {
  return `strings.quote("%s %s".format([type(dyn(${expression})), dyn(${expression})]))`;
}

const { validatingAdmissionPolicies, validatingAdmissionPolicyBindings, configMaps } = resources;

/** Expressions of one policy, all of which are gone through with each row of theirs. */
const perPolicy = 50;
/** Rows that are asked together. */
const atOnce = 8;

interface Validation {
  readonly id: string;
  readonly expression: string;
}

/** Evaluates its expression only for the object that names it. */
function validationOf({ id, expression }: Validation): object {
  return {
    expression: `object.data.expression != "${id}" || [dyn(${expression})].size() == 0`,
    messageExpression: textExpression(expression),
  };
}

function policyOf(name: string, validations: readonly Validation[]): KubeObject {
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
  return {
    apiVersion: apiVersionOf(validatingAdmissionPolicies),
    kind: validatingAdmissionPolicies.kind,
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [rule] },
      // So that the expressions of other policies cost a row nothing.
      matchConditions: [{ name: 'asked', expression: `object.data.policy == "${name}"` }],
      validations: validations.map(validationOf),
    },
  } as KubeObject;
}

/** Those that the API server does not take. */
async function refused(
  admin: KubeClient,
  name: string,
  validations: readonly Validation[],
): Promise<Validation[]> {
  const error = await admin
    .create(validatingAdmissionPolicies, policyOf(name, validations), { dryRun: true })
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof KubeApiError)) return [];
  const fields = error.details.causes?.map(({ field }) => field ?? '') ?? [];
  return validations.filter((_, index) => fields.includes(`spec.validations[${index}].expression`));
}

/** What an expression is asked with: its policy and itself by name, and the value of the row. */
interface Question {
  readonly policy: string;
  readonly expression: string;
  readonly value: string;
}

function objectOf(data: Question): KubeObject {
  return {
    apiVersion: 'v1',
    kind: configMaps.kind,
    metadata: { name: 'row', namespace: 'default' },
    data,
  } as KubeObject;
}

/** The message with which the object of a row is denied; undefined where it is not. */
async function denial(admin: KubeClient, question: Question): Promise<string | undefined> {
  try {
    await admin.create(configMaps, objectOf(question), { dryRun: true });
    return undefined;
  } catch (error) {
    if (error instanceof KubeApiError && error.message.includes('denied request: ')) return error.message;
    throw error;
  }
}

function answerOf(message: string | undefined): Answer {
  const said = /denied request: (.*)$/s.exec(message ?? '')?.[1] ?? '';
  if (said.includes('resulted in error')) return { kind: 'error' };
  return { kind: 'value', text: said.startsWith('"') ? said : undefined };
}

/** A new policy counts once the API server has seen it. */
async function untilInForce(admin: KubeClient, policy: string, expression: string): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while ((await denial(admin, { policy, expression, value: '' })) === undefined) {
    if (performance.now() > deadlineMs) throw new Error(`the policy "${policy}" is not in force`);
    await delay(100);
  }
}

/** What an API server says of each row, in their order: a policy that evaluates it denies an object with the result. */
export async function apiServerAnswers(admin: KubeClient, rows: readonly Row[]): Promise<Answer[]> {
  const expressions = [...new Set(rows.map(({ expression }) => expression))];
  const validations = expressions.map((expression, index) => ({
    id: `${index}`,
    expression: withValue(expression),
  }));
  /** By expression, the policy that has it. */
  const taken = new Map<string, string>();
  for (let from = 0; from < validations.length; from += perPolicy) {
    const name = `kubernetes-cel-${from}`;
    const some = validations.slice(from, from + perPolicy);
    const bad = await refused(admin, name, some);
    const good = some.filter((validation) => !bad.includes(validation));
    await admin.create(validatingAdmissionPolicies, policyOf(name, good));
    await admin.create(validatingAdmissionPolicyBindings, {
      apiVersion: apiVersionOf(validatingAdmissionPolicyBindings),
      kind: validatingAdmissionPolicyBindings.kind,
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    } as KubeObject);
    for (const { id } of good) taken.set(id, name);
    if (good[0]) await untilInForce(admin, name, good[0].id);
  }
  const answerTo = async ({ expression, value }: Row): Promise<Answer> => {
    const id = `${expressions.indexOf(expression)}`;
    const policy = taken.get(id);
    if (policy === undefined) return { kind: 'compile error' };
    return answerOf(await denial(admin, { policy, expression: id, value }));
  };
  const answers: Answer[] = [];
  for (let from = 0; from < rows.length; from += atOnce)
    answers.push(...(await Promise.all(rows.slice(from, from + atOnce).map(answerTo))));
  return answers;
}
