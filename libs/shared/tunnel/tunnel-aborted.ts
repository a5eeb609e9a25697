/** Why a stream ended before its end, as the side says that ended it. */
export class TunnelAborted extends Error {
  override readonly name = 'TunnelAborted';
}
