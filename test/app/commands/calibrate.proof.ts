import './calibrate.test.ts'
