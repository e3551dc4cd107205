// Upper bounds of histograms, in seconds or tokens.

/** Of a verdict: from its fastest debate to its case's deadline; the default buckets of prom-client end at 10 s. */
export const LATENCY_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1800]
/** Of a verdict: what Gavel itself adds. */
export const OVERHEAD_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 600]
/** Of asks, by stage: each bound is a series of every stage. */
export const STAGE_WAIT_SECONDS = [0.01, 0.1, 1, 10, 100]
export const STAGE_RUN_SECONDS = [0.1, 1, 10, 60]
/** Prescribed by the OpenTelemetry conventions for generative AI. */
export const GEN_AI_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
export const GEN_AI_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
/** Of a request at the door: its objective is 15 ms, its alert a quarter of a second. */
export const DOOR_OWN_SECONDS = [0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
/** Of a request that waits: a minute at the longest. */
export const DOOR_WAIT_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60]
