/*
 * `npm run images`: builds the images of Rollcall by the Dockerfile, with whatever container engine there is, under the names that the
 * charts have. What is added (`npm run images -- --network host`) goes to each build.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const targets = {
  rollcall: `rollcall:${version}`,
  agent: `rollcall-agent:${version}`,
  'embedded-hub': `rollcall-hub:${version}`,
};

/** @param {string} name */
function answers(name) {
  try {
    execFileSync(name, ['info'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const engine = ['docker', 'podman', 'nerdctl'].find(answers);
if (engine === undefined) {
  console.error('no container engine answers: start docker, podman or nerdctl, and run it again');
  process.exitCode = 1;
} else {
  for (const [target, image] of Object.entries(targets)) {
    console.log(`\n── ${engine} builds ${image}`);
    const flags = ['build', '--target', target, '--tag', image, ...process.argv.slice(2), '.'];
    execFileSync(engine, flags, { cwd: root, stdio: 'inherit' });
  }
  console.log(`\nbuilt ${Object.values(targets).join(', ')}`);
}
