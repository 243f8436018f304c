package debezium

// Types says how source values map to Paimon types where there is a choice, and how text is read where the events do
// not declare it. The zero value is the default.
type Types struct {
	TinyInt1 TinyInt1Mode
	Time     TimeMode
	Infinity InfinityMode
	NaN      NaNMode
	Decimal  DecimalMode
	Binary   BinaryMode
	// Unavailable is the connector's unavailable.value.placeholder; empty: __debezium_unavailable_value.
	Unavailable string
}

// TinyInt1Mode is the type of MySQL's TINYINT(1), which is known by the propagated column type only.
type TinyInt1Mode uint8

// The modes.
const (
	TinyInt1Number TinyInt1Mode = iota
	TinyInt1Boolean
)

// TimeMode is the type of a time of day. Paimon keeps a TIME in milliseconds of one day.
type TimeMode uint8

// The modes.
const (
	TimeAuto   TimeMode = iota // by what the type can hold: milliseconds to TIME(3), microseconds and nanoseconds to BIGINT, ISO text to STRING
	TimeTime                   // TIME(3); a value that it cannot hold is a bad record
	TimeInt64                  // BIGINT, microseconds, of any sign and size
	TimeString                 // STRING: [-]HH:MM:SS[.ffffff]
)

// InfinityMode is what PostgreSQL's infinite dates and timestamps become.
type InfinityMode uint8

// The modes.
const (
	InfinityFail InfinityMode = iota // a bad record
	InfinityNull
	InfinityMax // 9999-12-31 23:59:59.999999 and 0001-01-01 00:00:00
)

// NaNMode is what NaN and infinities become in a DECIMAL. FLOAT and DOUBLE keep them.
type NaNMode uint8

// The modes.
const (
	NaNFail NaNMode = iota
	NaNNull
)

// DecimalMode is how a text becomes a DECIMAL where the event does not declare it (decimal.handling.mode).
type DecimalMode uint8

// The modes. JSON numbers are taken in every mode.
const (
	DecimalAuto   DecimalMode = iota // whatever has one valid reading; a text with two is a bad record
	DecimalBase64                    // precise: base64 of the unscaled value
	DecimalString                    // string: plain decimal text
	DecimalNumber                    // double, or decimal.format=numeric: no text at all
)

// BinaryMode is how a text becomes bytes where the event does not declare it (binary.handling.mode).
type BinaryMode uint8

// The modes.
const (
	BinaryAuto      BinaryMode = iota // whatever has one valid reading; a text with two is a bad record
	BinaryBase64                      // bytes, base64
	BinaryBase64URL                   // base64-url-safe
	BinaryHex                         // hex
)
