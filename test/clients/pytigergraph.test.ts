import { describePrograms } from './describe-programs.js';
import { PYTIGERGRAPH } from './programs.js';

await describePrograms(PYTIGERGRAPH);
