/** What the approver writes, by what it is about. */
export * from './admission-events.ts';
export * from './bulk-events.ts';
export * from './decision-events.ts';
export * from './declaration-events.ts';
