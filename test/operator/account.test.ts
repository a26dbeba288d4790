// The account that owns what the operator keeps in its namespace, so that an uninstall takes Lease and link Secret along.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownAccount } from '../../operator/cluster/index.ts';
import { temporaryFolder } from '../support/temporary.ts';

const tokenFile = (claims: object): string => {
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`);
  return file;
};

test("a pod's own token names the account that Lease and Secret go with", async () => {
  const claims = { 'kubernetes.io': { namespace: 'fairlead', serviceaccount: { name: 'fairlead', uid: 'u-1' } } };
  expect(await ownAccount(tokenFile(claims))).toEqual({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    name: 'fairlead',
    uid: 'u-1',
  });
});

test('outside a pod, or with a token of another make, nobody owns them', async () => {
  expect(await ownAccount(join(temporaryFolder(), 'absent'))).toBeUndefined();
  expect(await ownAccount(tokenFile({ sub: 'somebody' }))).toBeUndefined();
});
