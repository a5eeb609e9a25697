#!/usr/bin/env node
// `kubectl rollcall …`: kubectl finds a plugin by the name of its program.
await import('../main.ts');
