import './log-reader.test.ts'
