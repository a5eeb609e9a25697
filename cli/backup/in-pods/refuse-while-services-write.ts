import type { BusAddress } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { askServices } from '../../status/ask-services.ts';
import { connectAsInspector } from '../../up/state/people-connection.ts';

/** Services that go on, because for them the history is not lost. Those that do not run say nothing. @throws RollcallError BUS_UNREACHABLE */
export async function servicesThatGoOn(stateDir: string, address: BusAddress): Promise<string[]> {
  const nc = await connectAsInspector(stateDir, address);
  try {
    const answers = await askServices(nc);
    const goOn = answers.filter(({ figures }) => figures['historyLost'] !== 1).map(({ name }) => name);
    return [...new Set(goOn)];
  } finally {
    await nc.close();
  }
}

/**
 * While services say that the history is lost they write nothing; one that does not would go on in the epoch that ends here.
 * @throws RollcallError USAGE, BUS_UNREACHABLE
 */
export async function refuseWhereWhole(stateDir: string, address: BusAddress): Promise<void> {
  const goOn = await servicesThatGoOn(stateDir, address);
  if (goOn.length > 0) throw isWhole(goOn);
}

export const isWhole = (goOn: readonly string[]): RollcallError =>
  new RollcallError('USAGE', `for the services ${goOn.join(', ')} the history of this hub is not lost`);
