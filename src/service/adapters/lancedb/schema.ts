import { join } from 'node:path'
import { OperatorError } from '../../domain/errors.ts'
import { printable } from '../../domain/printable.ts'
import { replaceFile, textOf } from './files.ts'

/** The form in which the library's folder is kept; a change of it raises the number. */
const SCHEMA = 1

/** Throws an `OperatorError` unless this version can read the folder. One without a number is in the first form. */
export async function checkSchema(path: string): Promise<void> {
  const text = (await textOf(fileIn(path)))?.trim() ?? '1'
  if (text === String(SCHEMA)) return
  throw new OperatorError(
    `The library in ${path} is in the form ${printable(text, 20)}, and this version of Gavel keeps it in the form ${SCHEMA}. Run the version that wrote it; or set another library.path and import and learn again.`,
  )
}

/** Notes this version's form in a folder that has no number yet. */
export async function noteSchema(path: string): Promise<void> {
  if ((await textOf(fileIn(path))) === null) await replaceFile(fileIn(path), `${SCHEMA}\n`)
}

function fileIn(path: string): string {
  return join(path, 'schema')
}
