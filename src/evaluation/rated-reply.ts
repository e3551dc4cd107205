import { z } from 'zod'

const ratedReply = z.looseObject({ hateSpeech: z.string(), text: z.string(), ratings: z.looseObject({}) })

/**
 * A rated reply as the message of the topics: files of ratings, as `gavel calibrate` reads them, may leave out the type, the id
 * (then it is the line's number) and the time. Anything else as it is.
 */
export function asMessage(json: unknown, line: number): unknown {
  if (!ratedReply.safeParse(json).success) return json
  return { type: 'counterspeech', id: `line ${line}`, createdAt: '1970-01-01T00:00:00Z', ...(json as object) }
}
