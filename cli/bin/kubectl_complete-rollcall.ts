#!/usr/bin/env node
// kubectl asks a program of this name what can stand after `kubectl rollcall`.
process.argv.splice(2, 0, '__complete');
await import('../main.ts');
