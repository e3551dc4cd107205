import { Option } from 'commander'
import { CONTRADICTIONS, type Contradictions } from '../data-files/contradictions.ts'
import { FORMATS } from '../data-files/formats.ts'
import type { OwnReading } from '../data-files/own-rows.ts'

// Options by which commands read files of messages and data sets.

export const formatOption = () => new Option('--format <format>', "the file's format").choices(FORMATS).default('gavel')

/** How a command's files are read, where they do not say it themselves. */
export const readingOptions = () => [
  new Option('--encoding <name>', "the file's encoding, such as latin1 or euc-kr (default: UTF-8, or as marked)"),
  new Option('--delimiter <character>', 'for CSV: the field separator, such as ; or tab (default: detected)'),
  new Option('--text-field <name>', 'the field or column with the text (default: text)'),
]
/** The same where items have ids, and replies to hate speech are read, too. */
export const repliesReadingOptions = () => [
  ...readingOptions(),
  new Option('--id-field <name>', 'the field or column with the id (default: id)'),
  new Option(
    '--hate-speech-field <name>',
    'for replies: the field or column with the hate speech that they answer (default: hateSpeech)',
  ),
]
export const labelFieldOption = () =>
  new Option('--label-field <name>', 'the field or column with the label (default: label)')
export const contradictionsOption = (by: Contradictions) =>
  new Option('--contradictions <how>', 'how to treat a text with several labels').choices(CONTRADICTIONS).default(by)

export const plainTextOption = () =>
  new Option('--text', 'plain text: each line of the file is a post')
    .implies({ plainText: true })
    .conflicts(['delimiter', 'idField', 'textField', 'hateSpeechField'])

/** Of a command's options those by which a file is read. */
export function readingOf(given: OwnReading): OwnReading {
  const { encoding, delimiter, idField, textField, labelField, hateSpeechField, plainText } = given
  return {
    ...(plainText === undefined ? {} : { plainText }),
    ...(encoding === undefined ? {} : { encoding }),
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(idField === undefined ? {} : { idField }),
    ...(textField === undefined ? {} : { textField }),
    ...(labelField === undefined ? {} : { labelField }),
    ...(hateSpeechField === undefined ? {} : { hateSpeechField }),
  }
}
