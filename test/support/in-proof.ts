/**
 * Whether a proof imported this file of tests: then it runs also what takes long and seldom fails. `npm test` skips that, and runs
 * each kind of fault in a shorter form.
 */
export const IN_PROOF = process.env.IN_PROOF === '1'
