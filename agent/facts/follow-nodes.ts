import { resources } from '@rollcall/shared/kubernetes/resources';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import { type CountedNode, countNode, createPool, type NodeObject } from './counted-node.ts';
import { type Followed, followResource } from './follow-resource.ts';
import type { MemberApi } from './member-api.ts';

/** Bounds a page to about 1 MB: a node with its list of images is some 10 to 20 kB. */
const pageSize = 50;

/** The nodes of the member, as far as they are counted. */
export function followNodes(
  member: Pick<MemberApi, 'watch'>,
  options: { lookAgainMs: number; onChange: () => void; signal: AbortSignal },
): Followed<CountedNode> {
  const pool = createPool();
  return followResource(member, {
    ...options,
    resource: async () => resources.nodes,
    keep: (object) => countNode(object as StoredObject<NodeObject>, pool),
    pageSize,
  });
}
