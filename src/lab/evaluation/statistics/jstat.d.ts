/** The part of jstat that Gavel uses; the package brings no types. */
declare module 'jstat' {
  interface Continuous<Parameters extends number[]> {
    cdf(x: number, ...parameters: Parameters): number
    inv(p: number, ...parameters: Parameters): number
  }
  export const jStat: {
    /** Standard normal distribution with mean 0 and deviation 1 given. */
    readonly normal: Continuous<[mean: number, deviation: number]>
    readonly studentt: Continuous<[degreesOfFreedom: number]>
    readonly beta: Continuous<[alpha: number, beta: number]>
    /** The logarithm of how many ways there are to choose so many of n. */
    combinationln(n: number, chosen: number): number
    /** Spearman's rank correlation, ties with their mean rank; NaN where one side has no variance. */
    spearmancoeff(one: readonly number[], other: readonly number[]): number
  }
  const jstat: { readonly jStat: typeof jStat }
  export default jstat
}
