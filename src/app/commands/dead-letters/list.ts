import { REPLAYS_HEADER } from '../../../../consumers/source-place.ts'
import type { Command } from '../../../cli/command.ts'
import { printable, printableJson } from '../../../cli/terminal.ts'
import type { DeadLetter } from '../../../contracts/facts/messages.ts'
import { readingClient } from '../reading-client.ts'
import { among, choosing, isNotWritten, type LetterFilter, placeOf, readLetters } from './letters.ts'

interface Listed {
  /** Those that are selected. */
  readonly letters: readonly DeadLetter[]
  /** How many there are in all. */
  readonly all: number
}

/** `gavel dead-letters list`: what could not be read or judged, and why. */
export const command: Command<LetterFilter, Listed> = {
  options: choosing(),
  json: true,
  help: 'Example:\n  $ gavel dead-letters list --reason invalid,future --json',
  async run({ options, settings: read, ...io }) {
    const settings = read()
    const all = await readLetters(await readingClient(settings, io.terminal), settings, io)
    return { letters: all.filter(among(options, settings)), all: all.length }
  },
  print({ letters, all }, { json, terminal }) {
    for (const letter of letters)
      terminal.out(
        json
          ? printableJson(JSON.stringify(letter))
          : `${printable(letter.at, 30)}  ${printable(namedIn(letter), 280)}  ${letter.reason}  ${printable(letter.detail, 120)}  (${letter.rawBytes} bytes${replayedSo(letter)})`,
      )
    if (all === 0) terminal.say('There are no dead letters.')
    else if (letters.length === 0)
      terminal.say(
        all === 1
          ? 'The only dead letter does not match your filters.'
          : `None of the ${all} dead letters matches your filters.`,
      )
  },
}

/** Its place; of what could not be written, whose record it would have been. */
function namedIn(letter: DeadLetter): string {
  return isNotWritten(letter) ? `to ${letter.topic}, key ${letter.key ?? '(none)'}` : placeOf(letter)
}

function replayedSo({ headers }: DeadLetter): string {
  const times = Number(headers[REPLAYS_HEADER])
  return times > 0 ? `, replayed ${times} ×` : ''
}
