// Package objecttest is the acceptance suite of [object.Store]: what every store promises, as tests that any of them can
// run; and a store that lets tests act between calls.
package objecttest
