import { takesOverFrom, worksSideBySide } from './upgrade.ts'

worksSideBySide()

/** The last commit before names and files were put in order, which must have changed nothing on the wire and on disk. */
takesOverFrom('bd44c4114e6ba5b6c7190a12ed239e6834082897', 'the version before the renames')

/** The last commit with a job for each ask, as a child of its case's job. */
takesOverFrom('1fb78ffa4a0832311c8b42dc4077032a02dc040b', 'the version with a job for each ask')
