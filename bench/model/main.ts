import { toRollcallError } from '@rollcall/shared/errors';
import { parseModelFlags, usage } from './model-flags.ts';
import { runModel } from './run-model.ts';
import { showComparison, showModel } from './show-model.ts';
import { validate } from './validate.ts';

function main(args: readonly string[]): number {
  try {
    const flags = parseModelFlags(args);
    if (!flags) {
      process.stdout.write(usage);
      return 0;
    }
    const print = <Result>(result: Result, show: (result: Result) => string) =>
      process.stdout.write(flags.json ? `${JSON.stringify(result, undefined, 2)}\n` : show(result));
    if (flags.withComparison) print(validate(flags.seed), showComparison);
    else print(runModel(flags), showModel);
    return 0;
  } catch (thrown) {
    const error = toRollcallError(thrown);
    process.stderr.write(`[model] ${error.code}: ${error.message}\n`);
    return error.code === 'USAGE' ? 2 : 1;
  }
}

process.exitCode = main(process.argv.slice(2));
