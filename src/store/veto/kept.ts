/** How long what a picture is is remembered, in ms: a subject's cases, and those of a quick edit, open within that. */
export const KEPT_MS = 600_000
/** How long it is remembered that it could not be had. */
export const UNKNOWN_KEPT_MS = 60_000
