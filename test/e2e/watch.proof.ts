import './watch.test.ts'
