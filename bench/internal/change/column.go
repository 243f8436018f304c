package change

import "fmt"

// Kind is how Debezium tells a column's values.
type Kind uint8

// The kinds.
const (
	BigInt  Kind = iota // int64
	Int                 // int32
	Decimal             // DECIMAL(12, 2): text in JSON (decimal.handling.mode=string), which every reader takes, org.apache.kafka.connect.data.Decimal in Avro
	Text                // string
	Micros              // io.debezium.time.MicroTimestamp
	Zoned               // io.debezium.time.ZonedTimestamp
	Bool                // boolean
	Double              // double
)

// Column is one of a table.
type Column struct {
	Name string
	Kind Kind
}

// Paimon returns the column's type in a table of Paimon.
func (c Column) Paimon() string {
	if c.Name == "id" {
		return "BIGINT NOT NULL"
	}
	return [...]string{"BIGINT", "INT", "DECIMAL(12, 2)", "STRING", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "BOOLEAN", "DOUBLE"}[c.Kind]
}

// Declared reports whether the format's schema tells the column's type, so that the sink needs no word of it.
func (c Column) Declared(format string) bool {
	return format == "avro" || format == "json-schema" && c.Kind != Decimal
}

// Least is how many columns a table has.
const Least = 12

// Columns returns the columns of a table of n: those of an order, and fillers of all kinds beside them.
func Columns(n int) []Column {
	columns := []Column{
		{"id", BigInt},
		{"customer_id", Int},
		{"product_id", Int},
		{"quantity", Int},
		{"warehouse_id", Int},
		{"amount", Decimal},
		{"description", Text},
		{"status", Text},
		{"created_at", Micros},
		{"updated_at", Zoned},
		{"active", Bool},
		{"score", Double},
	}
	fillers := []Kind{Int, Text, Double, Micros, BigInt, Text}
	for i := Least; i < n; i++ {
		columns = append(columns, Column{fmt.Sprintf("filler_%03d", i), fillers[i%len(fillers)]})
	}
	return columns
}
