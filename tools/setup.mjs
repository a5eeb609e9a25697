/*
 * Provides everything that `npm start` and `npm test` need and that is not there yet: npm packages, a pinned Node,
 * the programs of a hub, and the page of the console. Plain JavaScript without dependencies, because it runs before anything is installed,
 * on whatever Node >= 18 is on PATH.
 *
 *   node tools/setup.mjs [--tests] [--only NAME,NAME] [--print]
 *
 * --tests  also what only tests run (of Debian's packages Chromium, where that can be installed; two clients of a fleet, where Go is)
 * --only   provide these programs only (npm packages are always provided, the page of the console is not)
 * --print  print a JSON object on stdout: name of the program -> path
 */
import { fileURLToPath } from 'node:url';
import { buildTestPrograms } from './setup/build-test-programs.mjs';
import { cacheFolder } from './setup/cache-folder.mjs';
import { provideNpmPackages } from './setup/npm-packages.mjs';
import { pinnedTools, testTools } from './setup/pinned-tools.mjs';
import { provideChromium } from './setup/provide-chromium.mjs';
import { providePage } from './setup/provide-page.mjs';
import { providePrograms } from './setup/provide-programs.mjs';
import { say } from './setup/progress.mjs';
import { SetupError } from './setup/setup-error.mjs';

const interrupted = new AbortController();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.once(signal, () => {
    process.exitCode = signal === 'SIGINT' ? 130 : 143;
    interrupted.abort(new SetupError(`interrupted by ${signal}; run it again to continue`));
  });

try {
  const { tools, print, isAll, forTests } = readArguments(process.argv.slice(2));
  const root = fileURLToPath(new URL('..', import.meta.url));
  const place = { root, env: process.env, cache: cacheFolder(process.env), signal: interrupted.signal };
  await provideNpmPackages(place);
  const record = await providePrograms(tools, place);
  if (isAll) await providePage(place);
  if (forTests) await provideChromium(place);
  if (forTests) await buildTestPrograms(place);
  if (print) {
    const paths = tools.map(({ name }) => [name, record[name]?.path]);
    process.stdout.write(`${JSON.stringify(Object.fromEntries(paths), undefined, 2)}\n`);
  }
} catch (error) {
  const reason = interrupted.signal.aborted ? interrupted.signal.reason : error;
  // A full disk or a folder that may not be written is the person's to mend; the stack would not help.
  if (!(reason instanceof SetupError) && !isSystemError(reason)) throw error;
  for (const line of reason.message.split('\n')) say(line);
  process.exitCode = process.exitCode || 1;
}

/**
 * @param {unknown} error
 * @returns {error is NodeJS.ErrnoException}
 */
function isSystemError(error) {
  return error instanceof Error && 'syscall' in error;
}

/** @param {readonly string[]} args */
function readArguments(args) {
  let tools = pinnedTools;
  let [print, isAll, forTests] = [false, true, false];
  for (let index = 0; index < args.length; index++) {
    const [flag, joined] = (args[index] ?? '').split('=', 2);
    if (flag === '--print') print = true;
    else if (flag === '--tests') [tools, forTests] = [[...tools, ...testTools], true];
    else if (flag === '--only') [tools, isAll] = [toolsNamed(joined ?? args[++index] ?? ''), false];
    else
      throw new SetupError(
        `unknown argument "${args[index]}"; known are --tests, --only NAME,NAME and --print`,
      );
  }
  return { tools, print, isAll, forTests };
}

/** @param {string} list */
function toolsNamed(list) {
  const names = list.split(',').filter(Boolean);
  const all = [...pinnedTools, ...testTools];
  const unknown = names.filter((name) => !all.some((tool) => tool.name === name));
  if (names.length > 0 && unknown.length === 0) return all.filter((tool) => names.includes(tool.name));
  const known = all.map((tool) => tool.name).join(', ');
  throw new SetupError(`--only "${list}": names must be among ${known}`);
}
