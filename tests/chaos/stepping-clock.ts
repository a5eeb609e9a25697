/**
 * Preloaded into a process of chaos (`node --import '…/stepping-clock.ts?orders=FILE' …`): its wall clock is ahead by as many ms
 * as FILE says, from the start on and whenever that changes. Timers, like those of a machine whose clock somebody sets, go on as they were.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const orders = new URL(import.meta.url).searchParams.get('orders') ?? '';
const lookEveryMs = 50;

const SystemDate = Date;
const systemNow = SystemDate.now.bind(SystemDate);
let aheadMs: number | undefined;

function obey(): void {
  const ordered = Number(readFileSync(orders, 'utf8'));
  if (ordered === aheadMs) return;
  aheadMs = ordered;
  // A thread of it is no other process, and two that write one file meet.
  if (!isMainThread) return;
  // What the process itself takes for now, for whoever wants to see that it happened.
  const told = { pid: process.pid, aheadMs, now: new Date().toISOString() };
  writeFileSync(`${orders}.told.new`, JSON.stringify(told));
  renameSync(`${orders}.told.new`, `${orders}.told`);
}

SystemDate.now = () => systemNow() + (aheadMs ?? 0);
globalThis.Date = new Proxy(SystemDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [SystemDate.now()] : given, newTarget) as Date,
});
obey();
setInterval(obey, lookEveryMs).unref();
