package table

import "fmt"

// Kind is a row kind. Its value is the byte that Paimon stores in _VALUE_KIND (org.apache.paimon.types.RowKind).
type Kind int8

// The row kinds, in Paimon's numbering.
const (
	Insert       Kind = iota // +I
	UpdateBefore             // -U
	UpdateAfter              // +U
	Delete                   // -D
)

// String returns Paimon's short form: "+I", "-U", "+U" or "-D".
func (k Kind) String() string {
	switch k {
	case Insert:
		return "+I"
	case UpdateBefore:
		return "-U"
	case UpdateAfter:
		return "+U"
	case Delete:
		return "-D"
	}
	return fmt.Sprintf("Kind(%d)", int8(k))
}

// Retracts reports whether the kind takes a row away: -U or -D.
func (k Kind) Retracts() bool { return k == UpdateBefore || k == Delete }
