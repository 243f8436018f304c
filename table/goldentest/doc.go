// Package goldentest opens archives of golden tables, those that a real Paimon wrote, for the tests that read them.
package goldentest
