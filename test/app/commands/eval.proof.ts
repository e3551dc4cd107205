import './eval.test.ts'
