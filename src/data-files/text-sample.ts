/** One text of a labelled data set, as its reader finds it. */
export interface TextSample {
  /** Where the data set's own ids are unique. */
  readonly id?: string
  readonly text: string
  /** What an image is said to show: the data sets have captions and no pixels. */
  readonly image?: string
  /** BCP 47, where the data set is in one language. */
  readonly lang?: string
  readonly label: string
  /** What each annotator said, in the words of `label`, where the data set publishes it. */
  readonly annotations?: readonly string[]
  readonly unlabelled?: readonly string[]
  readonly slices?: Readonly<Record<string, string>>
}
