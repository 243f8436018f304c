// Package floor is the least work that any sink in Go has to do for the one table of the benchmark: decoders, a sort and a writer of
// files that know the table beforehand. They commit nothing.
package floor

import "errors"

// Row is one typed image of a row of the benchmark's table.
type Row struct {
	ID                                  int64
	Customer, Product, Quantity, Region int32
	Cents                               int64 // DECIMAL(12, 2)
	Description, Status                 string
	Created, Updated                    int64 // microseconds since 1970
	Active                              bool
	Score                               float64
}

// Event is a decoded envelope. Its texts may point into what was decoded.
type Event struct {
	Op                  byte
	HasBefore, HasAfter bool
	Before, After       Row
}

var errBad = errors.New("no event of the benchmark's table")
