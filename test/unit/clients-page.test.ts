import { expect, test } from 'vitest';
import { misnamed } from '../clients/known-failures.js';
import { clientsPage } from '../clients/page.js';

test('docs/dev/clients.md is what the tests of the real programs say', async () => {
  await expect(clientsPage()).toMatchFileSnapshot('../../docs/dev/clients.md');
});

test('the list of known failures names programs and servers that are tested', () => {
  expect(misnamed()).toEqual([]);
});
