import { RollcallError } from '@rollcall/shared/errors';
import { type AssumptionName, assumptions } from './assumptions.ts';
import { type CostName, costs } from './costs.ts';
import { type HubName, type HubNumbers, hubs } from './hubs.ts';

/** Everything that the model reckons with, by name: costs, assumptions, and what the hub is made of. */
export type Numbers = Readonly<Record<CostName | AssumptionName | keyof HubNumbers, number>>;

export function numbersOf(hub: HubName, changed: Readonly<Record<string, number>> = {}): Numbers {
  const tables = { ...costs, ...assumptions };
  const values = Object.fromEntries(Object.entries(tables).map(([name, { value }]) => [name, value]));
  const numbers = { ...values, ...hubs[hub] } as unknown as Numbers;
  for (const [name, value] of Object.entries(changed)) {
    if (!(name in numbers)) throw new RollcallError('USAGE', `the model has no number "${name}"`);
    if (!Number.isFinite(value) || value < 0) {
      throw new RollcallError('USAGE', `"${name}" must be a number from 0 on`);
    }
  }
  return { ...numbers, ...changed };
}
