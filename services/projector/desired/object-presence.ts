/**
 * What the record says about one object of ours.
 *
 * - `unmentioned`: nothing; what is there stays as it is
 * - `gone`: the cluster has left: our finalizer comes off and the object is deleted
 * - `present`: it is made if it is missing, whoever removed it: absence never asks for anything (principle 6)
 */
export type Wanted<Shape, Status> =
  | { readonly presence: 'unmentioned' }
  | { readonly presence: 'gone'; readonly name: string }
  | { readonly presence: 'present'; readonly name: string; readonly shape: Shape; readonly status: Status };
