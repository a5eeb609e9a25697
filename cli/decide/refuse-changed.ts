import { RollcallError } from '@rollcall/shared/errors';
import { printable } from '../terminal/printable.ts';

const words = (values: readonly (readonly [string, string | undefined])[]) =>
  values.map(([name, value]) => `${name} ${value ?? 'none'}`).join(', ');

/**
 * Compares what a person sent with what the API server stored: mutating admission of others comes in between.
 * @param sent - the fields that say what is wanted; what else is stored is not looked at
 * @throws RollcallError DECISION_CHANGED: what is stored is not what the person wants, and may be acted on
 */
export function refuseChanged(
  sent: Readonly<Record<string, string | undefined>>,
  stored: Readonly<Record<string, unknown>> | undefined,
): void {
  const pairs = Object.entries(sent).map(([name, value]) => {
    const found = stored?.[name];
    return { name, value, found: typeof found === 'string' ? found : undefined };
  });
  const differing = pairs.filter(({ value, found }) => value !== found);
  if (differing.length === 0) return;
  const wanted = words(differing.map(({ name, value }) => [name, value]));
  const found = words(differing.map((one) => [one.name, one.found]));
  throw new RollcallError(
    'DECISION_CHANGED',
    printable(`you sent ${wanted}, and the API server stored ${found}`),
  );
}
