/*
 * Before each test file: the worker's own ports. A port is free when it is drawn, and a server opens it seconds later; two
 * workers would draw the same one now and then. Below those that `rollcall` draws in processes that tests start, which get no
 * environment of ours. The parent's id keeps two runs on one machine apart more often than not.
 */

const from = 10_000;
const portsEach = 625;
const ranges = 16;

const first = from + ((process.ppid + Number(process.env['VITEST_POOL_ID'] ?? 1)) % ranges) * portsEach;
process.env['ROLLCALL_LOOPBACK_PORTS'] = `${first}-${first + portsEach - 1}`;
