import { describePrograms } from './describe-programs.js';
import { OTHERS } from './programs.js';

await describePrograms(OTHERS);
