import { expect, test } from 'vitest';
import { accessOfOthers } from '../../src/files/access-list.js';
import { shellWord } from '../../src/files/shell-word.js';

const ME = 'S-1-5-21-1085031214-1563985344-725345543-1001';
const INSTALLER = 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464';

// holds: C14.3
test.each([
  ['a file of the user’s profile', `D:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;FA;;;${ME})`, 'none'],
  ['a folder of graphcred’s', `D:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;${ME})`, 'none'],
  ['a file of the built-in administrator', 'D:AI(A;ID;FA;;;SY)(A;ID;FA;;;LA)', 'none'],
  [
    'a folder made on drive C',
    'D:AI(A;ID;FA;;;BA)(A;OICIIOID;GA;;;BA)(A;ID;FA;;;SY)(A;OICIID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)(A;OICIIOID;SDGXGWGR;;;AU)',
    'write',
  ],
  [
    'a program’s folder',
    `D:PAI(A;;FA;;;${INSTALLER})(A;;0x1301bf;;;SY)(A;;0x1301bf;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)`,
    'read',
  ],
  ['the folder of all programs’ data', 'D:PAI(A;OICI;FA;;;SY)(A;CI;DCLCRPCR;;;BU)', 'write'],
  ['a file of another user', 'D:(A;;FA;;;S-1-5-21-1085031214-1563985344-725345543-1002)', 'write'],
  ['a file that others may only look for', `D:(A;;RCLO;;;WD)(A;;FA;;;${ME})`, 'none'],
  [
    'a file that others may write if they are of a team',
    '(XA;;FW;;;WD;(@User.Title=="PM" && (@User.D=="x")))',
    'write',
  ],
  ['a file that others may do an unknown thing to', 'D:(A;;ZZ;;;WD)', 'write'],
  ['a file whose list denies', 'D:(D;;FA;;;WD)', 'none'],
  ['a file without a list', 'D:NO_ACCESS_CONTROL', 'write'],
])('what others may do to %s is read from its access list', (_, list, access) => {
  expect(accessOfOthers(list, ME)).toBe(access);
});

// holds: C14.4
test.each([
  ['C:\\a\\b-1.json', 'C:\\a\\b-1.json'],
  ['C:\\Users\\Jörg Müller\\x', '"C:\\Users\\Jörg Müller\\x"'],
  ['C:\\a & b\\', '"C:\\a & b\\\\"'],
  ["C:\\it's $HOME", "'C:\\it''s $HOME'"],
])('a printed command names %s so that the shells of Windows take it for one word', (name, word) => {
  expect(shellWord(name, 'win32')).toBe(word);
});
