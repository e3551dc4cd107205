import { z } from 'zod'

/** Words that are there. Reasons left empty would be an answer without reasons, and an empty entry wherever it is quoted. */
export const said = z.string().refine((text) => text.trim() !== '', 'is empty')
