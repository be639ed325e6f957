/** GRAPHCRED_DEEP=1 (`npm run test:deep`) runs the long form of the tests that have one. */
export const DEEP = process.env.GRAPHCRED_DEEP === '1';

/** How often a property is tried: 200 times, in the long form 10,000 times. fast-check prints the seed of a failure. */
export const RUNS = { numRuns: DEEP ? 10_000 : 200 };

/** The time limit for properties that write files or start processes. */
export const PROPERTY_MS = DEEP ? 900_000 : 90_000;
