/** What a new policy begins with: it approves nobody, so that it can be written as it stands. */
export const newPolicy = `apiVersion: rollcall.dev/v1alpha1
kind: ApprovalPolicy
metadata:
  name: new
spec:
  rules:
    - name: ask-a-person
      when: request.clusterName.startsWith("site-")
      effect: Hold
      reason: A person looks at new sites.
`;
