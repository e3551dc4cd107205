import { counted, type Terminal } from '../../cli/terminal.ts'
import { openRecording, type Recording } from '../../data-files/recordings.ts'

/**
 * Runs `work` with the recording in `folder`, and prints what it contains and how many calls were cut off; without a folder
 * there is no recording.
 */
export async function withRecording<Result>(
  folder: string | undefined,
  terminal: Terminal,
  work: (recording: Recording | null) => Promise<Result>,
): Promise<Result> {
  if (folder === undefined) return work(null)
  const recording = await openRecording(folder)
  try {
    sayRecorded(recording, folder, terminal)
    return await work(recording)
  } finally {
    await recording.close()
  }
}

/** Prints what a recording holds, and what was lost when an earlier run was stopped or killed. */
export function sayRecorded(
  recording: Pick<Recording, 'answers' | 'lost'>,
  folder: string,
  terminal: Pick<Terminal, 'say'>,
): void {
  const { lost } = recording
  if (recording.answers() > 0)
    terminal.say(`${folder} holds ${counted(recording.answers(), 'answer')}: they are not asked for again.`)
  if (lost.length > 0)
    terminal.say(
      `${counted(lost.length, 'call')} of an earlier run had no answer yet when that was stopped, and may have been paid for: asked again.`,
    )
}
