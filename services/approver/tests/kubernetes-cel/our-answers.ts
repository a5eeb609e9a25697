import { createKubernetesEnvironment } from '../../policy/kubernetes-library/kubernetes-environment.ts';
import { type Answer, textExpression, withValue } from './api-server-answers.ts';
import type { Row } from './rows.ts';

/** As the API server has them: of objects nobody knows the types beforehand. */
const environment = createKubernetesEnvironment({}, (declared) => declared.registerVariable('object', 'dyn'));

/** What policies of Rollcall make of a row. */
export function ourAnswer({ expression, value }: Row): Answer {
  const read = withValue(expression);
  if (!environment.check(read).valid) return { kind: 'compile error' };
  const object = { data: new Map([['value', value]]) };
  try {
    environment.parse(read)({ object });
  } catch {
    return { kind: 'error' };
  }
  try {
    return { kind: 'value', text: environment.parse(textExpression(read))({ object }) as string };
  } catch {
    return { kind: 'value', text: undefined };
  }
}
